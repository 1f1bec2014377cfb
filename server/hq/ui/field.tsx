import type { Child, PropsWithChildren } from "hono/jsx";
import type { Html } from "./parts.tsx";

/** Texts beside a form control. */
interface FieldTexts {
  label: string;
  name: string;
  /** A sentence below the control. */
  hint?: Child;
  /** The submitted value's problem. */
  error?: string;
}

/** Props for {@link TextField}. Omitted ones are not set in HTML either. */
export interface TextFieldProps extends FieldTexts {
  type?: "text" | "email" | "password" | "number" | "search";
  value?: string;
  autocomplete?: string;
  placeholder?: string;
  required?: boolean;
  autofocus?: boolean;
  minlength?: number;
  maxlength?: number;
  pattern?: string;
  inputmode?: "numeric" | "text" | "email";
  /** A monospace font, for codes and host names. */
  mono?: boolean;
  /** An additional class. */
  class?: string;
}

/** A text field with its label, hint and problem. Passwords are never sent back. */
export function TextField(
  { label, name, hint, error, mono, class: extra, type = "text", value, ...rest }: TextFieldProps,
): Html {
  const shown = type === "password" ? undefined : value;
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <div class={type === "password" ? "control secret" : "control"}>
        <input
          id={name}
          name={name}
          type={type}
          value={shown}
          class={extra ?? (mono ? "mono" : undefined)}
          {...describedBy(name, hint, error)}
          {...rest}
        />
      </div>
      <FieldNotes name={name} hint={hint} error={error} />
    </div>
  );
}

/** Props for {@link SelectField}. */
export interface SelectFieldProps extends FieldTexts {
  value?: string;
  options: readonly { value: string; label: string }[];
}

/** A list field with a label. */
export function SelectField({ label, name, hint, error, value, options }: SelectFieldProps): Html {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <select id={name} name={name} {...describedBy(name, hint, error)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>{option.label}</option>
        ))}
      </select>
      <FieldNotes name={name} hint={hint} error={error} />
    </div>
  );
}

/** Props for {@link CheckField}. */
export interface CheckFieldProps {
  label: Child;
  name: string;
  value?: string;
  checked?: boolean;
  hint?: string;
  /** A radio button in the group with this name. */
  isRadio?: boolean;
}

/** A check box or radio button with its label. */
export function CheckField({ label, name, value = "yes", checked, hint, isRadio }: CheckFieldProps): Html {
  const id = isRadio || value !== "yes" ? `${name}-${value}` : name;
  return (
    <div class="check">
      <input id={id} name={name} type={isRadio ? "radio" : "checkbox"} value={value} checked={checked} />
      <label for={id}>
        {label}
        {hint && <small>{hint}</small>}
      </label>
    </div>
  );
}

/** Controls with a common label. */
export function FieldSet(
  { legend, error, children }: PropsWithChildren<{ legend: string; error?: string }>,
): Html {
  return (
    <fieldset class="field">
      <legend>{legend}</legend>
      {children}
      {error && <p class="problem" role="alert">{error}</p>}
    </fieldset>
  );
}

function FieldNotes({ name, hint, error }: { name: string; hint?: Child; error?: string }): Html {
  return (
    <>
      {error && <p class="problem" id={`${name}-problem`}>{error}</p>}
      {hint && <p class="hint" id={`${name}-hint`}>{hint}</p>}
    </>
  );
}

function describedBy(name: string, hint: Child | undefined, error: string | undefined) {
  const ids = [error && `${name}-problem`, hint && `${name}-hint`].filter((id) => id);
  return {
    "aria-describedby": ids.length > 0 ? ids.join(" ") : undefined,
    "aria-invalid": error === undefined ? undefined : "true" as const,
  };
}
