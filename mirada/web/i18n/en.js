// English texts of the shell and of the views.

export const english = {
  "tab.translate": "Translate",
  "sentence": "Sentence",
  "model": "Model",
  "language": "Language",
  "theme": "Light or dark",
  "link": "Copy link",
  "link.copied": "Link copied",
  "failed": "This cannot be computed: {why}",
  "opening": "Opening the model …",
};
