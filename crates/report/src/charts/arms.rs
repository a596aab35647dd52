//! What is compared, in lines at the foot of a picture.

use super::scene::{Anchor, Scene, fit_text, text_width, wrap};
use super::style::Type;
use crate::arms::Arm;

/// Most lines; a picture of more arms has none.
const MOST: usize = 8;
/// Widest names.
const NAMES: f64 = 250.0;
const LINE: f64 = 16.0;
const GAP: f64 = 12.0;

/// Adds the lines between `left` and `right` below the drawing, which grows.
pub(crate) fn foot(scene: &mut Scene, arms: &[Arm], (left, right): (f64, f64)) {
    if arms.is_empty() || arms.len() > MOST {
        return;
    }
    let style = |arm: &Arm| arm.colour.map_or(Type::Name, Type::Label);
    let width = |arm: &Arm| text_width(style(arm), &arm.name);
    let widest = arms.iter().map(width).fold(0.0, f64::max).min(NAMES);
    let about = left + widest + GAP;
    let mut y = scene.height + LINE;
    for arm in arms {
        let name = fit_text(style(arm), &arm.name, NAMES);
        scene.text(style(arm), (left, y), Anchor::Start, name);
        for line in wrap(Type::Note, &arm.about, right - about) {
            scene.text(Type::Note, (about, y), Anchor::Start, line);
            y += LINE;
        }
    }
    scene.height = y - LINE + GAP;
}

#[cfg(test)]
mod tests {
    use super::super::scene::Item;
    use super::*;

    fn drawn(arms: usize) -> (usize, f64) {
        let arm = Arm { name: "codel".into(), about: "one queue".into(), colour: None };
        let mut scene = Scene::new(400.0, 100.0, "");
        foot(&mut scene, &vec![arm; arms], (16.0, 384.0));
        (scene.items.iter().filter(|item| matches!(item, Item::Text { .. })).count(), scene.height)
    }

    #[test]
    fn each_arm_has_a_line_unless_there_are_many() {
        assert_eq!(drawn(3), (6, 100.0 + 3.0 * LINE + GAP));
        assert_eq!(drawn(0), (0, 100.0));
        assert_eq!(drawn(MOST + 1), (0, 100.0));
    }
}
