// Passkeys: <form data-passkey="create" data-options="#id"> asks the browser for a new one, data-passkey="get" for one
// that there is, with the options in a JSON element or at data-options-url; the answer is sent in the field `credential`.
"use strict";
(() => {
  const bytes = (text) =>
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const text = (buffer) => {
    const letters = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
    return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  };
  const withBytes = (credentials) => (credentials ?? []).map((one) => ({ ...one, id: bytes(one.id) }));

  const create = async ({ publicKey }) => {
    const made = await navigator.credentials.create({
      publicKey: {
        ...publicKey,
        challenge: bytes(publicKey.challenge),
        user: { ...publicKey.user, id: bytes(publicKey.user.id) },
        excludeCredentials: withBytes(publicKey.excludeCredentials),
      },
    });
    return sent(made, {
      attestationObject: text(made.response.attestationObject),
      transports: made.response.getTransports?.() ?? [],
    });
  };

  const get = async ({ publicKey }) => {
    const found = await navigator.credentials.get({
      publicKey: {
        ...publicKey,
        challenge: bytes(publicKey.challenge),
        allowCredentials: withBytes(publicKey.allowCredentials),
      },
    });
    const { authenticatorData, signature, userHandle } = found.response;
    return sent(found, {
      authenticatorData: text(authenticatorData),
      signature: text(signature),
      userHandle: userHandle ? text(userHandle) : null,
    });
  };

  const sent = (credential, response) => ({
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: { ...response, clientDataJSON: text(credential.response.clientDataJSON) },
  });

  const optionsOf = async (form) => {
    if (form.dataset.options) return JSON.parse(document.querySelector(form.dataset.options).textContent);
    const answer = await fetch(form.dataset.optionsUrl, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error("The site isn't responding. Try again.");
    return (await answer.json()).options;
  };

  // What browsers say of a failure is not for people, except who made the error: us.
  const words = (error) => {
    if (error.name === "NotAllowedError") return "No passkey was chosen. Try again when you're ready.";
    if (error.name === "InvalidStateError") return "This device has a passkey for your account already.";
    return error instanceof Error && !(error instanceof DOMException) ? error.message : "That passkey didn't work.";
  };

  document.querySelectorAll("form[data-passkey]").forEach((form) => {
    const button = form.querySelector("button[data-passkey-ask]");
    const said = form.querySelector("[data-passkey-said]");
    button.addEventListener("click", async () => {
      said.hidden = true;
      button.setAttribute("aria-busy", "true");
      try {
        if (!window.PublicKeyCredential) throw new Error("This browser has no passkeys. Use another way.");
        const options = await optionsOf(form);
        const credential = await (form.dataset.passkey === "create" ? create(options) : get(options));
        form.elements.credential.value = JSON.stringify(credential);
        form.submit();
      } catch (error) {
        button.removeAttribute("aria-busy");
        said.textContent = words(error);
        said.hidden = false;
      }
    });
  });
})();
