// A judge as promptfoo's grader, exported by Touchstone: asks the model and turns its verdict into what llm-rubric reads.
// There, an answer without "pass" passes, so that one without a verdict is an error here.

const WAITS = [1000, 4000];
const AGAIN = new Set([408, 409, 425, 429, 500, 502, 503, 504]);

class JudgeProvider {
  constructor(options) {
    this.config = options.config;
  }

  id() {
    return `touchstone:${this.config.name}`;
  }

  async callApi(prompt) {
    const { body, patterns, scores } = this.config;
    let answer;
    try {
      answer = await this.ask({ ...body, messages: JSON.parse(prompt) });
    } catch (error) {
      return { error: `The judge could not be asked: ${error.message}` };
    }
    const choice = answer.choices?.[0];
    const text = choice?.message?.content ?? "";
    const tokenUsage = {
      prompt: answer.usage?.prompt_tokens,
      completion: answer.usage?.completion_tokens,
      total: answer.usage?.total_tokens,
    };
    const found = Object.keys(patterns).find((label) => new RegExp(patterns[label]).test(text));
    if (found === undefined || choice?.finish_reason === "length") {
      return { error: `The judge gave no verdict: ${text.slice(0, 500)}`, tokenUsage };
    }
    const score = scores[found];
    return { output: { pass: score >= this.config.least, score, reason: text }, tokenUsage };
  }

  async ask(body) {
    const key = process.env[this.config.apiKeyEnv];
    const headers = { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
    for (let attempt = 0; ; attempt += 1) {
      const reply = await fetch(this.config.url, { method: "POST", headers, body: JSON.stringify(body) });
      if (reply.ok) {
        return reply.json();
      }
      if (!AGAIN.has(reply.status) || attempt >= WAITS.length) {
        throw new Error(`HTTP ${reply.status}`);
      }
      await new Promise((resolve) => setTimeout(resolve, WAITS[attempt]));
    }
  }
}

module.exports = JudgeProvider;
