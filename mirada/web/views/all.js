// The views of the page, in the order of their tabs. A view is a class:
//
//     static id = "attention"              its name in the address and of its tab's text (`tab.attention`)
//     static defaults = {layer: 0}         values of the state that are its own; their names are unique
//     static fits(app)                     whether the model has something to show here
//     constructor(app)                     makes `this.element`
//     async update(state)                  shows the state; called when the view appears and after each change

import {TranslateView} from "./translate.js";
import {WalkView} from "./walk.js";
import {SwitchesView} from "./switches.js";

export const VIEWS = [TranslateView, WalkView, SwitchesView];
