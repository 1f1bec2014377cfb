import type { Child, PropsWithChildren } from "hono/jsx";
import type { Html } from "./parts.tsx";

/** What a form field shows besides its control. */
interface FieldTexts {
  label: string;
  name: string;
  /** A sentence below the control. */
  hint?: Child;
  /** What is wrong with the value that was sent. */
  error?: string;
}

/** A line to type in. What is left out is not set in HTML either. */
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
  /** Letters of one width, for codes and names of hosts. */
  mono?: boolean;
  /** A further class of the line. */
  class?: string;
}

/** A label with a line of text, what it is for, and what is wrong with it. A password never comes back with its value. */
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

/** A choice of one. */
export interface SelectFieldProps extends FieldTexts {
  value?: string;
  options: readonly { value: string; label: string }[];
}

/** A label with a list to choose one from. */
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

/** A box to tick, or one of several radio buttons. */
export interface CheckFieldProps {
  label: Child;
  name: string;
  value?: string;
  checked?: boolean;
  hint?: string;
  /** One of several of that name, of which one holds. */
  isRadio?: boolean;
}

/** A box to tick, or with `isRadio` one of several, with its words behind it. */
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

/** Several controls under one question. */
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
