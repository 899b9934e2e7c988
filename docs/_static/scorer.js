// What a search lists first: pages named like it, then functions of that name, then what people read to get something
// done; attributes and formats of bytes come last.
var Scorer = {
  score: ([page, title, , , score, , kind]) => {
    if (kind === "object") return title.split(".").length > 2 ? score / 4 : score;
    const weight = /^(tutorials|how-to|cli)\//.test(page) ? 1 : /^formats|^architecture|^stability/.test(page) ? -2 : 0;
    return score + weight;
  },
  objNameMatch: 14,
  objPartialMatch: 6,
  objPrio: { 0: 0, 1: 0, 2: -2 },
  objPrioDefault: 0,
  title: 20,
  partialTitle: 15,
  term: 5,
  partialTerm: 2,
};
