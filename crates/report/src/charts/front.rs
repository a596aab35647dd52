//! Two figures of many points, with the Pareto front.

use super::frame::{Frame, Sides};
use super::scale::Scale;
use super::scene::{Anchor, Point, Scene, dot};
use super::style::{Ink, Type};
use crate::sweep::Front;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 78.0;
/// Radius of a point of the front, and of another.
const FRONT: f64 = 5.0;
const OTHER: f64 = 2.6;

/// The picture. The horizontal axis is logarithmic if the values span more than a factor of ten.
pub(crate) fn draw(front: &Front, queues: &[String]) -> Scene {
    let about = format!(
        "{} against {} of {} points; {} are on the Pareto front",
        front.x.figure,
        front.y.figure,
        front.others + front.front.len(),
        front.front.len()
    );
    let mut scene = Scene::new(WIDTH, HEIGHT + 74.0, about);
    let all = || {
        let of_front = front.front.iter().map(|dot| (dot.x, dot.y));
        of_front.chain(front.drawn.iter().map(|&[x, y, _]| (x, y)))
    };
    let low_x = all().map(|(x, _)| x).fold(f64::INFINITY, f64::min);
    let high_x = all().map(|(x, _)| x).fold(f64::NEG_INFINITY, f64::max);
    let high_y = all().map(|(_, y)| y).fold(0.0, f64::max);
    let (left, right, top) = (LEFT, WIDTH - 24.0, 30.0);
    let x = if low_x > 0.0 && high_x > low_x * 10.0 {
        Scale::log(low_x / 1.2, high_x * 1.2, left, right)
    } else {
        Scale::linear(low_x.min(0.0), high_x * 1.05, left, right)
    };
    let y = Scale::linear(0.0, high_y * 1.05, top + HEIGHT, top);
    let frame = Frame { left, top, width: right - left, height: HEIGHT, x, y };
    frame.draw(&mut scene, Sides { x: Some(&front.x.words()), y: Some(&front.y.words()) });
    for (queue, name) in queues.iter().enumerate() {
        let others = front.drawn.iter().filter(|&&[_, _, of]| of == queue as f64);
        let dots = others.map(|&[x, y, _]| dot(frame.at(x, y), OTHER)).collect();
        scene.open(queue);
        scene.shape(Ink::Faint { queue }, true, dots);
        let own = front.front.iter().filter(|dot| dot.queue == queue);
        scene.shape(Ink::Block { queue }, true, own.map(|one| dot(frame.at(one.x, one.y), FRONT)).collect());
        scene.close();
        if queues.len() > 1 && queue < 8 {
            let at = (left + 8.0 + (queue % 4) as f64 * 165.0, 14.0 + (queue / 4) as f64 * 14.0);
            let words = super::scene::fit_text(Type::Label(queue), name, 155.0);
            scene.text(Type::Label(queue), at, Anchor::Start, words);
        }
    }
    let steps: Vec<Point> = front.front.iter().map(|one| frame.at(one.x, one.y)).collect();
    scene.shape(Ink::Limit, false, vec![steps]);
    scene
}
