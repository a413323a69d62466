// The views of the page, in the order of their tabs. A view is a class:
//
//     static id = "attention"              its name in the address and of its tab's text (`tab.attention`)
//     static defaults = {layer: 0}         values of the state that are its own; their names are unique
//     static fits(app)                     whether the model has something to show here
//     constructor(app)                     makes `this.element`
//     async update(state)                  shows the state; called when the view appears and after each change

import {TranslateView} from "./translate.js";
import {PredictView} from "./predict.js";
import {AttentionView} from "./attention.js";
import {WalkView} from "./walk.js";
import {SwitchesView} from "./switches.js";
import {TrainingView} from "./training.js";
import {CompareView} from "./compare.js";

export const VIEWS = [TranslateView, PredictView, AttentionView, WalkView, SwitchesView, TrainingView, CompareView];
