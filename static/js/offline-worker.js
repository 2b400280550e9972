// The service worker of the annotators' pages: it opens the work page where the network or the site doesn't, from what the
// page has kept (ahead.js). With a connection everything comes from the server as ever, and nothing is kept by this file.
"use strict";
const WORK = "touchstone-work-1";
const FILES = "touchstone-files-1";
// The study's own address, the work page, and an item of it.
const OF_WORK = /^(.*\/s\/[-\w]+\/)(?:work\/(?:\d+\/)?)?$/;
const KINDS = ["style", "script", "font", "image", "worker"];

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => {
  const tidy = async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith("touchstone-") && ![WORK, FILES].includes(name));
    await Promise.all(old.map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(tidy());
});

const kept = async (name, url) => (await caches.has(name)) && (await caches.open(name)).match(url);
const page = async (request, study) => {
  let answer;
  try {
    answer = await fetch(request);
    if (answer.status < 500) return answer;
  } catch {
    // no connection
  }
  return (await kept(WORK, `${study}work/offline/`)) || answer || Response.error();
};
const file = async (request) => {
  try {
    return await fetch(request);
  } catch (error) {
    const found = (await kept(FILES, request.url)) || (await kept(WORK, request.url));
    if (found) return found;
    throw error;
  }
};

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== self.location.origin) return;
  const study = request.mode === "navigate" && OF_WORK.exec(url.pathname)?.[1];
  if (study) event.respondWith(page(request, study));
  else if (KINDS.includes(request.destination)) event.respondWith(file(request));
});
