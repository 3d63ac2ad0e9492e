"use strict";
// The server's page: questions, documents and conversations. Untrusted text is set as text content;
// finished answers come as HTML that the server has escaped.
(() => {
  const find = (selector, inside = document) => inside.querySelector(selector);
  const turns = find("#turns");
  const question = find("#question");
  let conversation = makeName();
  let asking = null;
  let methods = [];
  let made = 0;
  let begun = 0;

  function create(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  // crypto.randomUUID and the clipboard exist only over HTTPS, or on the reader's own machine.
  function makeName() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  function speak(words) {
    find("#spoken").textContent = words;
  }

  async function request(path, options = {}) {
    const response = await fetch(path, options);
    if (response.ok) return response;
    let told = "";
    try {
      const body = await response.json();
      told = body.error?.message || body.detail;
    } catch { /* no JSON: use the status */ }
    throw new Error(told || `The server answered ${response.status}.`);
  }

  async function read(path) {
    return (await request(path)).json();
  }

  function send(path, value, options = {}) {
    const headers = { "content-type": "application/json" };
    return request(path, { method: "POST", headers, body: JSON.stringify(value), ...options });
  }

  // Shows a text in a hidden element, or hides it again without one.
  function reveal(element, words) {
    element.textContent = words;
    element.hidden = !words;
  }

  // What to tell the reader; the errors of `fetch` itself are of this type.
  function explain(error) {
    return error instanceof TypeError ? "The server does not answer." : error.message;
  }

  // The server-sent events of a response, in order.
  async function* events(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const frames = (rest + value).split("\n\n");
      rest = frames.pop();
      for (const frame of frames) {
        const lines = frame.split("\n");
        const data = lines.find((line) => line.startsWith("data: "));
        const name = lines.find((line) => line.startsWith("event: "));
        if (data) yield [name?.slice(7) ?? "", JSON.parse(data.slice(6))];
      }
    }
  }

  // ---- A turn: claims as they are written, checked and settled -------------------------------
  const ENDED = /[.!?…。！？।؟۔]["'”’»)」』）]*\s*$/; // as text.ends_sentence
  const SIGNS = { supported: "✓", contradicted: "✗", unsupported: "!", unchecked: "?" };
  const WORDS = {
    supported: "Proved", contradicted: "Contradicted", unsupported: "Not proved", unchecked: "Not checked",
  };

  class Turn {
    constructor(asked) {
      this.prefix = `t${++made}-`;
      this.place = find("#turn").content.cloneNode(true).firstElementChild;
      this.passages = new Map();
      this.numbers = new Map();
      this.claims = 0;
      this.current = null;
      const heading = find(".asked", this.place);
      heading.textContent = asked;
      find("#welcome").classList.add("over");
      find("#new").hidden = false;
      turns.append(this.place);
      if (heading.scrollHeight > heading.clientHeight) heading.tabIndex = 0; // to scroll it with the keyboard
    }

    doing(words) {
      find(".doing .words", this.place).textContent = words;
    }

    take(name, event) {
      switch (name) {
        case "waiting":
          this.doing(event.loading ? "Loading the models…" : "Waiting for its turn…");
          break;
        case "started":
          this.doing("Looking for passages…");
          break;
        case "question_rewritten":
          this.understand(event.question);
          break;
        case "passages_retrieved":
        case "evidence_found":
          for (const passage of event.passages) this.passages.set(passage.id, passage);
          this.doing(name === "evidence_found" ? "Looking for more evidence…" : "Reading passages…");
          break;
        case "claim_delta":
          this.writing().textContent += event.text;
          this.doing("Writing…");
          break;
        case "claim_drafted":
          this.writing().textContent = event.text;
          this.current.className = "claim checking";
          this.doing("Checking the claim…");
          break;
        case "claim_verified":
          if (this.current) this.current.className = `claim ${event.verdict.status}`;
          break;
        case "claim_rejected":
          this.reject(event.text);
          break;
        case "review_requested":
          this.review(event);
          break;
        case "claim_reviewed":
          find(".review", this.place)?.remove();
          break;
        case "claim_accepted":
          this.accept(event.claim);
          break;
      }
    }

    understand(question) {
      if (!question || question === find(".asked", this.place).textContent) return;
      reveal(find(".understood", this.place), `Understood as: ${question}`);
    }

    writing() {
      if (!this.current) {
        this.current = create("span", { className: "claim writing" });
        find(".prose", this.place).append(this.current, " ");
      }
      return this.current;
    }

    reject(text) {
      if (!this.current) return;
      const gone = this.current;
      this.current = null;
      gone.className = "claim rejected";
      setTimeout(() => gone.remove(), 2500);
      this.doing("Not proved; rewriting it…");
      speak(`Withdrawn: ${text}`);
    }

    accept(claim) {
      const shown = this.writing();
      const status = claim.verdict.status;
      const n = ++this.claims;
      this.current = null;
      shown.textContent = claim.text;
      shown.className = `claim ${status}`;
      shown.tabIndex = 0;
      shown.dataset.card = `${this.prefix}live-${n}`;
      this.card(shown.dataset.card, create("p", {
        className: `verdict ${status}`, textContent: `${SIGNS[status]} ${WORDS[status]}`,
      }));
      const chips = create("sup");
      for (const citation of claim.citations) chips.append(this.chip(n, citation));
      shown.after(chips);
      if (!ENDED.test(claim.text)) chips.after(create("br")); // an item of a list, or its introduction
      if (status !== "supported") {
        shown.after(create("span", { className: `sign ${status}`, textContent: SIGNS[status], role: "img", ariaLabel: WORDS[status] }));
      }
      this.doing("Writing…");
      speak(`${WORDS[status]}: ${claim.text}`);
    }

    chip(n, citation) {
      const id = citation.passage_id;
      if (!this.numbers.has(id)) this.numbers.set(id, this.numbers.size + 1);
      const number = this.numbers.get(id);
      const chip = create("a", { className: "chip", textContent: number, ariaLabel: `Citation ${number}` });
      chip.tabIndex = 0;
      chip.dataset.card = `${this.prefix}live-${n}-${number}`;
      const passage = this.passages.get(id);
      if (passage) {
        const page = passage.page ? `, p. ${passage.page}` : "";
        const quote = create("blockquote");
        const at = citation.sentence ? passage.text.indexOf(citation.sentence) : -1;
        if (at < 0) quote.append(passage.text);
        else {
          const end = at + citation.sentence.length;
          quote.append(passage.text.slice(0, at), create("mark", { textContent: citation.sentence }), passage.text.slice(end));
        }
        const title = create("p", { className: "title" }, create("b", { textContent: number }), passage.title + page);
        this.card(chip.dataset.card, title, quote);
      }
      return chip;
    }

    // A person decides on a claim; meanwhile the run waits, and others may have its turn.
    review({ claim, passages, problem }) {
      find(".review", this.place)?.remove();
      const form = find("#review").content.cloneNode(true).firstElementChild;
      const [heading, words, again] = ["h3", "textarea", '[value="edit"]'].map((one) => find(one, form));
      const complain = (words) => reveal(find(".problem", form), words);
      const disable = (disabled) => form.querySelectorAll("button").forEach((one) => Object.assign(one, { disabled }));
      heading.id = `${this.prefix}review`;
      form.setAttribute("aria-labelledby", heading.id);
      find(".claim", form).textContent = claim.text;
      complain(problem);
      find(".hint", form).textContent = passages.length ? "It cites:" : "It cites nothing.";
      find(".cited", form).append(...passages.map((passage, n) => {
        const sentence = claim.citations[n]?.sentence;
        return create("blockquote", {}, create("b", { textContent: passage.title }), ` ${sentence || passage.text}`);
      }));
      const decide = async (decision, text = "") => {
        disable(true);
        try {
          await send(`/api/ask/${this.run}/decision`, { decision, text });
          this.doing("Continuing…");
          this.place.focus({ preventScroll: true });
          form.remove();
        } catch (error) {
          complain(explain(error));
          disable(false);
        }
      };
      const reword = () => {
        if (words.value.trim()) decide("edit", words.value.trim());
        else words.focus();
      };
      form.addEventListener("click", ({ target }) => {
        if (target.value === "approve" || target.value === "drop") decide(target.value);
        if (target !== again) return;
        if (again.ariaExpanded === "true") return reword();
        again.ariaExpanded = "true";
        again.textContent = "Check the edit";
        find(".rewording", form).hidden = false;
        words.value = claim.text;
        words.focus();
      });
      form.addEventListener("submit", (event) => event.preventDefault());
      words.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        reword();
      });
      find(".written", this.place).after(form);
      this.doing("Waiting for your decision…");
      speak(`Your decision is needed. Nothing proves this claim: ${claim.text}`);
      heading.focus();
    }

    card(id, ...content) {
      const card = create("template", { id });
      card.content.append(...content);
      this.place.append(card);
    }

    fail(words) {
      this.end(); // a review has a problem of its own
      reveal(find(".problem", this.place), words);
    }

    end() {
      find(".doing", this.place).hidden = true;
      find(".review", this.place)?.remove();
      for (const half of this.place.querySelectorAll(".claim:is(.writing, .checking)")) half.remove();
    }

    async settle(run, understood = "") {
      const response = await request(`/runs/${run}`);
      const settled = create("template", { innerHTML: await response.text() });
      rename(settled.content, this.prefix);
      for (const card of this.place.querySelectorAll(":scope > template")) card.remove();
      find(".written", this.place).replaceChildren(settled.content);
      this.understand(understood);
      for (const kind of ["html", "md", "json"]) find(`.tools .${kind}`, this.place).href = `/runs/${run}.${kind}`;
      const button = find(".copy", this.place);
      button.hidden = !navigator.clipboard;
      button.addEventListener("click", () => copy(run, button).catch((error) => (button.textContent = explain(error))));
      find(".tools", this.place).hidden = false;
      this.end();
      return find(".standing", this.place)?.innerText ?? "";
    }
  }

  // The page may show several answers, so the ids of each get a prefix.
  function rename(content, prefix) {
    for (const element of content.querySelectorAll("*")) {
      for (const name of ["id", "data-card", "aria-labelledby"]) {
        const value = element.getAttribute(name);
        if (value) element.setAttribute(name, prefix + value);
      }
      const href = element.getAttribute("href");
      if (href?.startsWith("#")) element.setAttribute("href", `#${prefix}${href.slice(1)}`);
      const tip = element.getAttribute("marker-end");
      if (tip) element.setAttribute("marker-end", tip.replace("url(#", `url(#${prefix}`));
      if (element instanceof HTMLTemplateElement) rename(element.content, prefix);
    }
  }

  async function copy(run, button) {
    const response = await request(`/runs/${run}.md`);
    await navigator.clipboard.writeText(await response.text());
    button.textContent = "Copied";
    speak("Copied with citations");
    setTimeout(() => (button.textContent = "Copy with citations"), 2000);
  }

  // ---- Asking ---------------------------------------------------------------------------------
  // Holds the question while it is being answered, for a page that is reloaded meanwhile.
  const UNANSWERED = "unanswered";

  async function ask(asked) {
    const turn = new Turn(asked);
    let run = "";
    let understood = "";
    asking = new AbortController();
    find("#stop").hidden = false;
    find("#ask .main").disabled = true;
    turn.doing("Sending…");
    turn.place.scrollIntoView();
    speak("Question sent.");
    sessionStorage.setItem(UNANSWERED, asked);
    try {
      const body = { question: asked, method: find("#method").value, parameters: parameters(), conversation };
      const response = await send("/api/ask", body, { signal: asking.signal });
      for await (const [name, event] of events(response)) {
        if (name === "error") throw new Error(event.error.message);
        if (name === "run") run = turn.run = event.run;
        if (name === "started") address(conversation);
        if (name === "answer_ready") understood = event.answer.question;
        turn.take(name, event);
      }
      speak(`The answer is ready. ${await turn.settle(run, understood)}`);
    } catch (error) {
      const stopped = error.name === "AbortError";
      turn.fail(stopped ? "Stopped." : explain(error));
      if (turn.place.isConnected) question.value ||= asked; // to ask it again, or differently
      speak(stopped ? "Stopped." : "");
    } finally {
      asking = null;
      sessionStorage.removeItem(UNANSWERED);
      find("#stop").hidden = true;
      find("#ask .main").disabled = false;
    }
  }

  find("#ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const asked = question.value.trim();
    if (!asked || asking) return;
    question.value = "";
    find("#how").open = false;
    ask(asked);
  });
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    find("#ask").requestSubmit();
  });
  find("#stop").addEventListener("click", () => {
    asking?.abort();
    question.focus();
  });
  find("#new").addEventListener("click", () => begin());

  // The address names the conversation, so that it is shown again when the page is reloaded.
  function address(name) {
    history.replaceState(null, "", name ? `/?conversation=${encodeURIComponent(name)}` : "/");
  }

  function begin(name = "") {
    asking?.abort();
    conversation = name || makeName();
    address(name);
    begun += 1;
    turns.replaceChildren();
    find("#welcome").classList.remove("over");
    find("#new").hidden = true;
    question.focus();
  }

  // ---- Method and parameters ------------------------------------------------------------------
  function type(schema) {
    const options = schema.anyOf ?? [schema];
    return options.find((one) => one.type !== "null") ?? schema;
  }

  function choose() {
    const method = methods.find((one) => one.name === find("#method").value);
    if (!method) return;
    find("#cost").textContent = `A question costs ${method.cost}.`;
    const rows = Object.entries(method.parameters.properties).map(([name, schema]) => field(name, schema));
    find("#parameters").replaceChildren(...rows.filter(Boolean));
  }

  function field(name, schema) {
    const own = type(schema);
    let input;
    if (own.enum) {
      input = create("select", {}, ...own.enum.map((value) => create("option", { value, textContent: value })));
      input.value = schema.default;
    } else if (own.type === "boolean") {
      input = create("input", { type: "checkbox", checked: schema.default });
    } else if (own.type === "integer" || own.type === "number") {
      input = create("input", { type: "number", step: own.type === "integer" ? 1 : "any", value: schema.default ?? "" });
    } else return null;
    input.id = `parameter-${name}`;
    input.dataset.name = name;
    input.dataset.unset = JSON.stringify(schema.default ?? null);
    const label = create("label", { htmlFor: input.id, textContent: name.replaceAll("_", " ") });
    return create("div", {}, label, " ", input, create("p", { className: "hint", textContent: schema.description ?? "" }));
  }

  // The parameters that the reader has changed.
  function parameters() {
    const changed = {};
    for (const input of find("#parameters").querySelectorAll("[data-name]")) {
      let value = input.type === "checkbox" ? input.checked : input.value;
      if (input.type === "number") value = value === "" ? null : Number(value);
      if (JSON.stringify(value) !== input.dataset.unset) changed[input.dataset.name] = value;
    }
    return changed;
  }

  find("#method").addEventListener("change", choose);
  read("/api/methods").then((found) => {
    methods = found.methods;
    choose();
  }, () => {});

  // ---- Dialogs --------------------------------------------------------------------------------
  for (const name of ["documents", "conversations"]) {
    const dialog = find(`#${name}`);
    find(`#open-${name}`).addEventListener("click", () => {
      dialog.showModal();
      show[name]().catch((error) => {
        const told = create("p", { role: "alert", textContent: explain(error) });
        find(".listed", dialog).replaceChildren(create("li", {}, told));
      });
    });
    find(".close", dialog).addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
  }

  const show = {
    async documents() {
      const { documents } = await read("/api/documents");
      find("#none").hidden = documents.length > 0;
      find("#holding").textContent = documents.length ? "" : "There are no documents yet. Add some first: Documents.";
      find("#list").replaceChildren(...documents.map((one) => {
        const name = one.file
          ? create("a", { href: one.file, target: "_blank", rel: "noopener", textContent: one.name })
          : create("span", { textContent: one.name });
        return row(name, one.name, `/api/documents/${one.id}`, "documents");
      }));
    },
    async conversations() {
      const dialog = find("#conversations");
      const { conversations } = await read("/api/conversations");
      find(".hint", dialog).hidden = conversations.length > 0;
      find(".listed", dialog).replaceChildren(...conversations.map((one) => {
        const at = one.at ? new Date(one.at * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : "";
        const title = create("button", { type: "button", className: "title", textContent: one.title },
          create("span", { className: "hint", textContent: ` ${at}` }));
        title.addEventListener("click", () => {
          dialog.close();
          reopen(one.id);
        });
        return row(title, one.title, conversationPath(one.id), "conversations");
      }));
    },
  };

  function conversationPath(name) {
    return `/api/conversations/${encodeURIComponent(name)}`;
  }

  // A row of a list, with a button that removes it when pressed twice.
  function row(shown, name, path, kind) {
    const button = create("button", { type: "button", className: "remove" });
    const problem = create("p", { className: "problem", role: "alert", hidden: true });
    const line = create("li", {}, shown, button, problem);
    const label = (words) => Object.assign(button, { textContent: words, ariaLabel: `${words} ${name}` });
    let sure = false;
    label("Remove");
    button.addEventListener("click", async () => {
      if (!sure) {
        sure = true;
        label("Really remove");
        setTimeout(() => { sure = false; label("Remove"); }, 4000);
        return;
      }
      button.disabled = true;
      try {
        await request(path, { method: "DELETE" });
        const list = line.parentElement;
        const at = [...list.children].indexOf(line);
        if (path === conversationPath(conversation)) begin();
        await show[kind]();
        const next = list.children[at] ?? list.lastElementChild;
        find(next ? ".remove" : ".close", next ?? list.parentElement).focus();
      } catch (error) {
        button.disabled = false;
        reveal(problem, explain(error));
      }
    });
    return line;
  }

  async function reopen(name) {
    begin(name);
    const own = begun; // meanwhile, the reader may begin or reopen another one
    const tell = (words) => turns.append(create("p", { className: "problem", role: "alert", textContent: words }));
    try {
      const found = await read(conversationPath(name));
      if (own === begun && !found.turns.length) tell("No question of this conversation was answered.");
      for (const { run, asked, answer } of found.turns) {
        if (own !== begun) return;
        const turn = new Turn(asked);
        await turn.settle(run, answer.question).catch((error) => turn.fail(explain(error)));
      }
    } catch (error) {
      if (own === begun) tell(explain(error));
    }
    question.focus();
  }

  find("#files").addEventListener("change", async (event) => {
    const files = [...event.target.files];
    if (!files.length) return;
    const body = new FormData();
    for (const file of files) body.append("files", file, file.name);
    event.target.value = "";
    const line = create("li", { textContent: "Sending… " });
    find("#adding").replaceChildren(line);
    try {
      const response = await request("/api/documents", { method: "POST", headers: { "x-citeproof": "upload" }, body });
      for await (const [name, told] of events(response)) {
        if (name === "error") throw new Error(told.error.message);
        if (name === "progress") line.replaceChildren(`${told.document} `, create("progress", { max: told.total, value: told.done }));
        if (name === "waiting") line.textContent = "Loading the models…";
        if (name === "report") {
          const tell = (count, what) => (count ? `${count} ${count === 1 ? "document" : "documents"} ${what}. ` : "");
          line.textContent = tell(told.added.length + told.updated.length, "added") + tell(told.unchanged.length, "unchanged");
          for (const [file, why] of [...told.errors, ...told.problems]) {
            find("#adding").append(create("li", { textContent: why.startsWith(file) ? why : `${file}: ${why}` }));
          }
        }
      }
      await show.documents();
    } catch (error) {
      line.textContent = explain(error);
    }
  });

  // ---- Until the models are loaded ------------------------------------------------------------
  async function ready() {
    const line = find("#loading");
    try {
      const response = await fetch("/readyz");
      const state = await response.json();
      line.hidden = state.ready;
      if (state.ready) {
        show.documents().catch((error) => speak(explain(error)));
        return;
      }
      const told = state.loading?.filter((one) => one.total && one.done < one.total).map((one) => `${one.what} ${Math.floor((100 * one.done) / one.total)} %`);
      line.textContent = state.error || `Loading the models… ${told?.join(", ") ?? ""}`;
      if (state.error) return;
    } catch {
      line.hidden = false;
      line.textContent = "The server does not answer.";
    }
    setTimeout(ready, 1000);
  }
  ready();
  question.value = sessionStorage.getItem(UNANSWERED) ?? "";
  const named = new URLSearchParams(location.search).get("conversation");
  if (named) reopen(named);
  else question.focus();
})();
