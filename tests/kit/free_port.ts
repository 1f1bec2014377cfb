/** A port that is free now, for programs that cannot take any free one and say which. */
export function findFreePort(): number {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  listener.close();
  return listener.addr.port;
}
