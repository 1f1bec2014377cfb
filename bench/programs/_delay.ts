// A TCP relay that delivers every byte later. Arguments: target port, milliseconds per direction. Prints its port.
import { connect, createServer, type Socket } from "node:net";
import process from "node:process";

const [target, delayMs] = process.argv.slice(2).map(Number);

/** Passes bytes on in order, each `delayMs` after its arrival. */
function pipeLate(from: Socket, to: Socket): void {
  from.setNoDelay(true);
  from.on("data", (bytes) => setTimeout(() => to.writable && to.write(bytes), delayMs));
  from.on("end", () => setTimeout(() => to.end(), delayMs));
  from.on("error", () => to.destroy());
}

const server = createServer((visitor) => {
  const onward = connect(target, "127.0.0.1");
  pipeLate(visitor, onward);
  pipeLate(onward, visitor);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address !== "string") process.stdout.write(`port ${address.port}\n`);
});
