// A large file of a form goes up in chunks, so that one that was interrupted continues where it stopped.
//   <form data-upload="/begin/" data-upload-chunk="4194304">, with judges/_upload.html in it
// A file of up to one chunk, and any file where the browser can't hash (without HTTPS), leaves with the form as it is.
// The server says how much it has (`judges/views/uploads.py`); what is there is compared with the file before more is
// sent. Once all is there, the form is submitted without the file.
"use strict";
(() => {
  const form = document.querySelector("form[data-upload]");
  if (!form || !globalThis.crypto?.subtle) return;
  const HEAD_BYTES = 2 ** 20; // of the hash by which a file is known again
  const STALLED_MS = 30_000;
  const MOST_WAIT_S = 30;
  const RATE_MS = 8_000;
  const SHOWN_MS = 200;
  const TOLD_MS = 15_000; // how often the live region says how far it is

  const at = (name) => form.querySelector(`[data-upload-${name}]`);
  const [panel, nameShown, share, figures, state, pause] = ["panel", "name", "share", "figures", "state", "pause"].map(at);
  const bar = panel.querySelector("progress");
  const input = form.querySelector("input[type=file]");
  const token = () => form.querySelector("[name=csrfmiddlewaretoken]").value;

  let current = null; // the upload at work or paused in this tab
  let submitter = null;
  let isEnding = false; // the form is on its way without its file

  class Stopped extends Error {} // paused, or another file was chosen
  class Refused extends Error {} // more attempts won't help
  class Unread extends Error {} // the form has to be corrected first
  class Broken extends Error {} // the connection, or a server that is busy

  // ---- words
  const UNITS = ["bytes", "KB", "MB", "GB", "TB"];
  const sized = (bytes) => {
    const unit = bytes < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log(bytes) / Math.log(1024)));
    return `${(bytes / 1024 ** unit).toFixed(unit ? 1 : 0)} ${UNITS[unit]}`;
  };
  const lasting = (seconds) => {
    if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
    const minutes = Math.round(seconds / 60);
    return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };
  const say = (words) => {
    if (state.textContent !== words) state.textContent = words;
  };
  const percent = (job, bytes) => `${Math.floor((100 * bytes) / job.file.size)}%`;
  const show = (job, bytes, what = "uploaded") => {
    const now = performance.now();
    if (job !== current || (now - job.shownAt < SHOWN_MS && bytes < job.file.size)) return;
    job.shownAt = now;
    bar.value = Math.floor((1000 * bytes) / job.file.size);
    share.textContent = percent(job, bytes);
    job.seen.push([now, bytes]);
    while (job.seen.length > 2 && now - job.seen[0][0] > RATE_MS) job.seen.shift();
    const [since, first] = job.seen[0];
    const rate = now - since > 500 ? (1000 * (bytes - first)) / (now - since) : 0;
    const left = rate > 0 ? `, ${sized(rate)}/s, ${lasting((job.file.size - bytes) / rate)} left` : "";
    figures.textContent = `${sized(bytes)} of ${sized(job.file.size)} ${what}${what === "uploaded" ? left : ""}`;
    if (what === "uploaded" && now - job.toldAt > TOLD_MS) {
      job.toldAt = now;
      say(`Uploading, ${percent(job, bytes)} done${rate > 0 ? `, ${lasting((job.file.size - bytes) / rate)} left` : ""}.`);
    }
  };

  // ---- hashes
  const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const chained = (before, digest) => {
    const both = new Uint8Array(before.length + digest.length);
    both.set(before);
    both.set(digest, before.length);
    return sha256(both);
  };
  const chunkAt = (job, offset) => job.file.slice(offset, offset + job.chunk);
  const digestAt = async (job, offset) => {
    try {
      return await sha256(await chunkAt(job, offset).arrayBuffer());
    } catch {
      throw new Refused("The file can't be read. It was changed or moved: choose it again.");
    }
  };

  // ---- requests
  const refusal = (request) => {
    try {
      return JSON.parse(request.responseText).problem;
    } catch {
      return "";
    }
  };
  // Resolves with the request, whatever its status; rejects where there is no answer, or none from the site.
  const ask = (job, method, address, body, headers = {}, progress = () => {}) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      let clock = 0;
      const alive = () => {
        clearTimeout(clock);
        clock = setTimeout(() => request.abort(), STALLED_MS);
      };
      const ended = (error) => {
        clearTimeout(clock);
        job.request = null;
        if (error) reject(job.isStopped ? new Stopped() : error);
        else resolve(request);
      };
      request.open(method, address);
      request.setRequestHeader("X-CSRFToken", token());
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.addEventListener("progress", (event) => {
        alive();
        progress(event.loaded);
      });
      request.addEventListener("load", () => {
        const isElsewhere = new URL(request.responseURL).pathname !== new URL(address, location.href).pathname;
        if (isElsewhere || request.status === 403) {
          ended(new Refused("Your session has ended. Log in again and choose the same file: the upload continues where it stopped."));
        } else if (request.status >= 500 && request.status !== 507) ended(new Broken("The site isn't responding."));
        else if (request.status === 408 || request.status === 429) ended(new Broken("The site is busy."));
        else ended();
      });
      request.addEventListener("error", () => ended(new Broken("The connection broke.")));
      request.addEventListener("abort", () => ended(new Broken("The connection broke.")));
      job.request = request;
      alive();
      request.send(body);
    });

  // ---- what the server has
  const begin = async (job) => {
    const head = hex(await sha256(await job.file.slice(0, HEAD_BYTES).arrayBuffer()));
    const said = new FormData(form);
    said.delete(input.name);
    const named = { file_name: job.file.name, file_size: job.file.size, file_modified: job.file.lastModified, file_head: head };
    for (const [name, value] of Object.entries(named)) said.set(name, value);
    const answer = await ask(job, "POST", form.dataset.upload, said);
    if (answer.status === 422) {
      const report = document.getElementById("upload-report");
      report.replaceChildren(...new DOMParser().parseFromString(answer.responseText, "text/html").body.childNodes);
      report.scrollIntoView({ block: "start" });
      throw new Unread("");
    }
    if (answer.status !== 200) throw new Refused(refusal(answer) || "The site doesn't take this file.");
    const found = JSON.parse(answer.responseText);
    [job.address, job.chunk] = [found.address, found.chunk];
    form.elements.upload.value = found.id;
    await agree(job, found);
  };
  // Take the server's word for how much it has, if that is how this file begins.
  const agree = async (job, { offset, digest }) => {
    if (offset < job.offset) [job.offset, job.digest] = [0, new Uint8Array()];
    if (offset - job.offset > job.chunk) say("Comparing the file with what is uploaded.");
    while (job.offset < offset) {
      if (job.isStopped) throw new Stopped();
      job.digest = await chained(job.digest, await digestAt(job, job.offset));
      job.offset += chunkAt(job, job.offset).size;
      show(job, job.offset, "compared");
    }
    if (hex(job.digest) !== digest) {
      throw new Refused("The file that you chose differs from what is uploaded of it. Discard that upload under Unfinished imports, and upload the file again.");
    }
    job.seen = [];
  };
  const told = async (job) => {
    const answer = await ask(job, "GET", job.address);
    if (answer.status === 404) throw new Refused("This upload was discarded. Choose the file again to begin anew.");
    await agree(job, JSON.parse(answer.responseText));
  };
  const send = async (job) => {
    const chunk = chunkAt(job, job.offset);
    const digest = await (job.next?.offset === job.offset ? job.next.digest : digestAt(job, job.offset));
    if (job.isStopped) throw new Stopped();
    const headers = {
      "Content-Type": "application/octet-stream",
      "Upload-Offset": job.offset,
      "Content-Digest": `sha-256=:${btoa(String.fromCharCode(...digest))}:`,
    };
    const before = job.offset;
    const sending = ask(job, "POST", job.address, chunk, headers, (sent) => show(job, before + Math.min(sent, chunk.size)));
    // The next one is hashed while this one is on its way; an error is met when its turn comes.
    const next = before + chunk.size;
    job.next = next < job.file.size ? { offset: next, digest: digestAt(job, next) } : null;
    job.next?.digest.catch(() => {});
    const answer = await sending;
    if (answer.status === 200) {
      job.digest = await chained(job.digest, digest);
      job.offset = next;
      show(job, job.offset);
      if (JSON.parse(answer.responseText).digest !== hex(job.digest)) throw new Refused("What is stored differs from the file.");
    } else if (answer.status === 409) await agree(job, JSON.parse(answer.responseText));
    else if (answer.status === 422) throw new Broken("A part arrived damaged.");
    else if (answer.status === 404) throw new Refused("This upload was discarded. Choose the file again to begin anew.");
    else throw new Refused(refusal(answer) || "The site doesn't take this file.");
  };

  // ---- the loop
  // Waits until it is worth another attempt: a while, or until the browser is online again.
  const wait = (job, reason) =>
    new Promise((resolve, reject) => {
      const seconds = Math.min(MOST_WAIT_S, 2 ** job.failures++);
      let clock = 0;
      const over = (done) => () => {
        clearTimeout(clock);
        removeEventListener("online", again);
        job.cancel = null;
        done();
      };
      const again = over(resolve);
      job.cancel = over(() => reject(new Stopped()));
      addEventListener("online", again);
      if (navigator.onLine) {
        say(`${reason} Trying again in ${lasting(seconds)}.`);
        clock = setTimeout(again, 1000 * seconds * (0.75 + Math.random() / 2));
      } else say("You're offline. The upload continues when you reconnect.");
    });
  const run = async (job) => {
    [job.isStopped, job.isRunning] = [false, true];
    isPaused(false);
    say("Uploading.");
    let isKnown = false; // what the server has
    try {
      for (;;) {
        try {
          if (!isKnown) await (job.address ? told(job) : begin(job));
          isKnown = true;
          while (job.offset < job.file.size) {
            await send(job);
            job.failures = 0;
            if (!state.textContent.startsWith("Uploading")) say(`Uploading, ${percent(job, job.offset)} done.`);
          }
          break;
        } catch (error) {
          if (job.isStopped || !(error instanceof Broken)) throw error;
          isKnown = false;
          await wait(job, error.message);
        }
      }
      if (job.isStopped) throw new Stopped();
      job.isRunning = false;
      end(job);
    } catch (error) {
      job.isRunning = false;
      if (job !== current) return; // another file was chosen
      if (error instanceof Stopped) say(`Paused at ${percent(job, job.offset)}.`);
      else say(error.message);
      [job.seen, job.shownAt] = [[], 0]; // it has no rate now
      show(job, job.offset);
      isPaused(true);
      if (error instanceof Unread) panel.hidden = true;
      release();
      if (![Stopped, Refused, Unread].some((kind) => error instanceof kind)) throw error;
    }
  };
  const release = () => document.dispatchEvent(new Event("touchstone:held"));
  const isPaused = (paused) => (pause.textContent = paused ? "Resume upload" : "Pause upload");
  const stop = (job) => {
    job.isStopped = true;
    job.cancel?.();
    job.request?.abort();
  };
  const forget = () => {
    current = null;
    panel.hidden = true;
    input.disabled = false;
  };
  const end = (job) => {
    say("Uploaded. The file is being checked.");
    bar.value = bar.max;
    pause.hidden = true;
    form.elements.digest.value = hex(job.digest);
    input.disabled = true; // its file is there
    isEnding = true;
    release();
    form.requestSubmit(submitter);
  };

  // After actions.js, which marks the form as busy, and before htmx, which would send the file.
  document.addEventListener(
    "submit",
    (event) => {
      if (event.target !== form || event.defaultPrevented || isEnding) return;
      const file = input.files[0];
      if (!current && (!file || file.size <= Number(form.dataset.uploadChunk))) return;
      event.preventDefault();
      event.stopPropagation();
      submitter = event.submitter;
      document.getElementById("upload-report").replaceChildren();
      if (current?.isRunning) return;
      current ??= { file, address: "", chunk: 0, offset: 0, digest: new Uint8Array(), failures: 0 };
      [current.seen, current.shownAt] = [[], 0];
      current.toldAt = performance.now();
      current.address = ""; // the form may have changed
      nameShown.textContent = file.name;
      panel.hidden = pause.hidden = false;
      show(current, current.offset);
      panel.focus(); // the button that was pressed may be far below it
      run(current);
    },
    true,
  );
  pause.addEventListener("click", () => {
    if (current.isRunning) stop(current);
    else run(current);
  });
  input.addEventListener("change", () => {
    if (!current) return;
    stop(current);
    forget();
    form.elements.upload.value = form.elements.upload.defaultValue;
    say("");
    release();
  });
  addEventListener("offline", () => current?.request?.abort());

  // The end of an upload is sent as the form is: where that fails, it's sent again.
  const again = () => {
    if (!isEnding) return;
    const seconds = Math.min(MOST_WAIT_S, 2 ** current.failures++);
    say(`The connection broke. Trying again in ${lasting(seconds)}.`);
    setTimeout(() => {
      release();
      form.requestSubmit(submitter);
    }, 1000 * seconds);
  };
  form.addEventListener("htmx:sendError", again);
  form.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status >= 500) return again();
    if (!isEnding) return;
    isEnding = input.disabled = false;
    say("The site doesn't take the file. Reload this page and choose the same file again.");
  });
  // It came, and something in it is wrong: the file stays where it is while that is corrected.
  form.addEventListener("htmx:afterRequest", (event) => {
    if (!isEnding || !event.detail.successful || event.detail.xhr.getResponseHeader("HX-Redirect")) return;
    isEnding = input.disabled = false;
    panel.hidden = true;
    say("The file is uploaded. Correct the form and send it again.");
  });
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    isEnding = false;
    forget();
    say("");
  });
})();
