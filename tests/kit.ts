/**
 * What system tests are made of: the real server and the real client as processes of their own, local services to
 * expose, visitors, a network that can be cut, a browser. Everything is async-disposable: with `await using` no test
 * leaves anything behind.
 */
export * from "./kit/mod.ts";
