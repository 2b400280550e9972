// Browsers start no worker for a page that was opened from a folder. There, the search of this site runs in a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      const script = (source) =>
        new Promise((done, failed) => {
          const tag = inside.document.createElement("script");
          Object.assign(tag, { src: source, async: false, onload: done, onerror: failed });
          inside.document.body.append(tag);
        });
      // What the worker says goes to the page, not to the frame's own window.
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...sources) => Promise.all(sources.map(script));
      this.ready = script(String(url));
      this.frame = inside;
    }
    postMessage(data) {
      this.ready.then(() => this.frame.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.frameElement.remove();
    }
  };
}
