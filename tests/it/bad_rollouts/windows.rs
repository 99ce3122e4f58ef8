//! Windows.

use super::Case;

pub const CASES: &[Case] = &[
    (
        "  strategy:\n",
        "  strategy:\n    windows: [{days: Mon-Fri, from: \"09:00\", to: \"16:00\", timeZone: Europe/Berln}]\n",
        &["15: spec.strategy.windows[0].timeZone: \"Europe/Berln\" is not a time zone; did you mean Europe/Berlin?"],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    windows: [{from: \"09:00\", to: \"09:00\"}]\n",
        &[
            "15: spec.strategy.windows[0].to: 09:00 is also the opening time; choose another closing time; without windows, steps may begin at any time",
        ],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    windows: [{days: Monday, from: \"9:00\", to: \"24:00\"}]\n",
        &[
            "15: spec.strategy.windows[0].days: \"Monday\" is not allowed; write days of Mon to Sun, such as Mon-Fri or Sat,Sun",
            "15: spec.strategy.windows[0].from: \"9:00\" is not allowed; write hours and minutes, from 00:00 to 23:59",
            "15: spec.strategy.windows[0].to: \"24:00\" is not allowed; write hours and minutes, from 00:00 to 23:59",
        ],
    ),
    (
        "  strategy:\n",
        "  strategy:\n    bake: 1h\n    windows: [{from: \"23:30\", to: \"00:15\", timeZone: Europe/Berlin}]\n",
        &[
            "15: spec.strategy.bake: a step takes 1h30s (settle and bake), and no window is open that long; shorten the bake, or make a window of spec.strategy.windows longer than 45m",
        ],
    ),
];
