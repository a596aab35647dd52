//! Finds a place for text inside a band of varying height.

use super::scene::Point;

/// Upper and lower edge of a band at one place, in pixels (y grows downwards); `None` if there is no band.
pub(crate) type Edges = Option<(f64, f64)>;

/// The centre of a box of this width and height that lies completely inside the band. It is where the band is
/// thickest over the box's width; of equal places it is the one nearest to the middle of the band. Edges are
/// straight between places. `None` if the band is too thin everywhere.
pub(crate) fn place(edges: &[Edges], x: impl Fn(usize) -> f64, (wide, high): (f64, f64)) -> Option<Point> {
    let mut found: Vec<(f64, Point)> = Vec::new();
    for first in 0..edges.len() {
        if let Some((room, middle)) = room_from(edges, first, &x, wide).filter(|(room, _)| *room >= high) {
            found.push((room, middle));
        }
    }
    let best = found.iter().map(|(room, _)| *room).fold(0.0, f64::max);
    let present = |i: &usize| edges[*i].is_some();
    let start = x((0..edges.len()).find(present)?);
    let end = x((0..edges.len()).rev().find(present)?);
    let off = |p: &Point| (p.0 - (start + end) / 2.0).abs();
    let good = found.into_iter().filter(|(room, _)| *room >= best * 0.85).map(|(_, point)| point);
    good.min_by(|a, b| off(a).total_cmp(&off(b)))
}

/// Height of the tallest box of width `wide` pixels that fits at place `first` and after, and its centre.
fn room_from(edges: &[Edges], first: usize, x: &impl Fn(usize) -> f64, wide: f64) -> Option<(f64, Point)> {
    let (mut top, mut bottom) = edges[first]?;
    for (i, edge) in edges.iter().enumerate().skip(first) {
        let (upper, lower) = (*edge)?;
        top = top.max(upper);
        bottom = bottom.min(lower);
        if x(i) - x(first) >= wide {
            return Some((bottom - top, ((x(first) + x(i)) / 2.0, (top + bottom) / 2.0)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A band of the given heights above y = 100, with a place every 10 pixels.
    fn band(heights: &[Option<f64>]) -> Vec<Edges> {
        heights.iter().map(|h| h.map(|h| (100.0 - h, 100.0))).collect()
    }

    fn x(i: usize) -> f64 {
        i as f64 * 10.0
    }

    #[test]
    fn the_thickest_part_over_the_full_width_gets_the_label() {
        let heights = [5.0, 60.0, 5.0, 30.0, 30.0, 32.0, 5.0, 5.0].map(Some);
        // One narrow spike cannot hold 20 pixels of text.
        assert_eq!(place(&band(&heights), x, (20.0, 14.0)), Some((40.0, 85.0)));
        assert_eq!(place(&band(&heights), x, (30.0, 14.0)), None);
        assert_eq!(place(&band(&heights), x, (20.0, 31.0)), None);
    }

    #[test]
    fn a_gap_has_no_label() {
        let heights = [Some(30.0), Some(30.0), None, Some(30.0), Some(30.0)];
        assert_eq!(place(&band(&heights), x, (20.0, 14.0)), None);
        assert_eq!(place(&band(&heights), x, (10.0, 14.0)).map(|p| p.1), Some(85.0));
        assert_eq!(place(&[], x, (10.0, 14.0)), None);
    }

    #[test]
    fn slopes_are_left_out_of_the_box() {
        // The lower edge rises while the upper one is flat: only the left part is thick enough.
        let edges: Vec<Edges> = (0..10).map(|i| Some((0.0, 40.0 - 4.0 * f64::from(i)))).collect();
        let (px, py) = place(&edges, x, (20.0, 14.0)).unwrap_or_default();
        assert!(px <= 50.0 && py + 7.0 <= 40.0 - 4.0 * (px + 10.0) / 10.0, "{px} {py}");
    }
}
