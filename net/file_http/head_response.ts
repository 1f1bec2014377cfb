/**
 * The answer to HEAD for what GET would be answered: no body, and the length that it would have. An answer whose body
 * has been left out already stays as it is.
 */
export async function withoutBody(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const headers = new Headers(response.headers);
  headers.set("content-length", String((await response.arrayBuffer()).byteLength));
  return new Response(null, { status: response.status, headers });
}
