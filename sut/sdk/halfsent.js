// Announces a boundary of one's own to Halfsent, from Node. Copy this file; it needs nothing else.
//
//     const halfsent = require("./halfsent.js");
//
//     halfsent.at("rendered", digestKey);
//     halfsent.at("rendered");              // of the job that this worker holds
//
// Elsewhere it is one failed look-up. Never throws for strings.
"use strict";

const { existsSync } = require("node:fs");

exports.at = (name, key = "") => {
  existsSync(`/halfsent/at/${name.replaceAll("/", "_")}/${key}`.split("\0", 1)[0]);
};
