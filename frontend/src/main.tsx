import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Router } from "wouter";
import { App } from "./App";
import { ApiError, basePath } from "./api/client";
import { redirectHashLink } from "./lib/hashLinks";
import { startTheme } from "./lib/theme";
import { loadLanguage, preferredLanguage } from "./messages";
import "./styles/tokens.css";
import "./styles/base.css";
import "./ui/ui.css";
import "./styles/shell.css";

const RETRIES_MAX = 2;

const queries = new QueryClient({
  queryCache: new QueryCache(),
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // Only an unreachable or overloaded server is worth asking again.
      retry: (failures, error) =>
        failures < RETRIES_MAX && error instanceof ApiError && (error.status === 0 || error.status >= 502),
    },
  },
});

async function start(): Promise<void> {
  startTheme();
  redirectHashLink();
  await loadLanguage(preferredLanguage());
  const root = document.getElementById("root");
  if (!root) return;
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router base={basePath}>
          <App />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  );
}

void start();
