//! Compresses the fonts of charts, without what no chart uses: the program is smaller by 220 kB.

#[cfg(feature = "png")]
fn main() -> std::io::Result<()> {
    use std::io::Write;

    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var("OUT_DIR").map_err(std::io::Error::other)?;
    for (name, font) in [("regular", notosans::REGULAR_TTF), ("bold", notosans::BOLD_TTF)] {
        let file = std::fs::File::create(std::path::Path::new(&folder).join(name))?;
        let mut packed = flate2::write::DeflateEncoder::new(file, flate2::Compression::best());
        packed.write_all(
            &drawn(font).ok_or_else(|| std::io::Error::other(format!("the font {name} is damaged")))?,
        )?;
        packed.finish()?;
    }
    Ok(())
}

/// Tables that outlines and widths of characters are in. Others have pairs that move together (GPOS),
/// ligatures, and hints for small screens.
#[cfg(feature = "png")]
const DRAWN: [&[u8; 4]; 7] = [b"cmap", b"glyf", b"head", b"hhea", b"hmtx", b"loca", b"maxp"];

/// The font with these tables alone (OpenType 1.9, "Table Directory"). Checksums stay those of the whole
/// font: who reads it does not look at them.
#[cfg(feature = "png")]
fn drawn(font: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize| Some(u32::from_be_bytes(*font.get(at..)?.first_chunk()?) as usize);
    let tables = u16::from_be_bytes(*font.get(4..)?.first_chunk()?);
    let entries = (0..usize::from(tables)).map(|table| 12 + 16 * table);
    let kept: Vec<usize> =
        entries.filter(|at| DRAWN.iter().any(|tag| font.get(*at..at + 4) == Some(tag.as_slice()))).collect();
    let (mut head, mut bodies) = (font.get(..12)?.to_vec(), Vec::new());
    head[4..6].copy_from_slice(&u16::try_from(kept.len()).ok()?.to_be_bytes());
    let start = 12 + 16 * kept.len();
    for at in kept {
        let (from, length) = (number(at + 8)?, number(at + 12)?);
        head.extend(font.get(at..at + 8)?);
        head.extend(u32::try_from(start + bodies.len()).ok()?.to_be_bytes());
        head.extend(font.get(at + 12..at + 16)?);
        bodies.extend(font.get(from..from + length)?);
        // Each table begins at a multiple of four.
        bodies.resize(bodies.len().next_multiple_of(4), 0);
    }
    head.extend(bodies);
    Some(head)
}

#[cfg(not(feature = "png"))]
fn main() {}
