import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError, apiUrl, get, queryString, request } from "./client";

afterEach(() => vi.unstubAllGlobals());

function answerWith(response: Response | Error): void {
  vi.stubGlobal("fetch", () => (response instanceof Error ? Promise.reject(response) : Promise.resolve(response)));
}

describe("queryString", () => {
  it("leaves out what is not given and repeats lists", () => {
    expect(queryString({ a: null, b: undefined, c: "x y", d: ["1", "2"], e: 0 })).toBe("?c=x+y&d=1&d=2&e=0");
    expect(queryString({})).toBe("");
  });
});

it("addresses of the API lie below the base path", () => {
  expect(apiUrl("runs/abc", { x: 1 })).toBe("/api/contrail/v1/runs/abc?x=1");
});

describe("request", () => {
  it("throws the server's own code and words", async () => {
    answerWith(Response.json({ error_code: "INVALID_PARAMETER_VALUE", message: "No." }, { status: 400 }));
    await expect(get("x")).rejects.toMatchObject({ status: 400, code: "INVALID_PARAMETER_VALUE", message: "No." });
  });

  it("makes an error of an answer that is not JSON", async () => {
    answerWith(new Response("<h1>Bad gateway</h1>", { status: 502 }));
    await expect(get("x")).rejects.toMatchObject({ status: 502, code: "INTERNAL_ERROR" });
  });

  it("tells an unreachable server from an aborted request", async () => {
    answerWith(new TypeError("failed"));
    await expect(request("x")).rejects.toBeInstanceOf(ApiError);
    answerWith(new DOMException("", "AbortError"));
    await expect(request("x")).rejects.toMatchObject({ name: "AbortError" });
  });
});
