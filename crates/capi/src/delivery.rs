//! A packet as it leaves the library.

use goodqueue::Header;

use crate::abi::Head;

/// A packet delivered, or dropped.
pub(crate) struct Delivery {
    pub(crate) header: Header,
    /// Number of the segment, if a super-packet was cut.
    pub(crate) segment: u16,
    /// Number of segments of an uncut super-packet.
    pub(crate) segments: u16,
}

impl Delivery {
    /// The packet for the caller.
    #[inline]
    pub(crate) const fn head(self) -> Head {
        Head { segment: self.segment, gso_segments: self.segments, ..Head::of(self.header) }
    }
}

impl Head {
    #[inline]
    pub(crate) const fn header(&self) -> Header {
        let &Head { cookie, len, truesize, flow_hash, dsfield, .. } = self;
        Header { cookie, len, truesize, flow_hash, dsfield }
    }

    #[inline]
    pub(crate) const fn of(header: Header) -> Head {
        let Header { cookie, len, truesize, flow_hash, dsfield } = header;
        Head {
            size: size_of::<Head>() as u32,
            len,
            truesize,
            flow_hash,
            cookie,
            dsfield,
            classified: 0,
            gso_segments: 0,
            segment: 0,
            link_header: 0,
        }
    }
}
