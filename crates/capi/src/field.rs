//! Fields of the C structs by name.

use crate::abi::GQ_DEFAULT;

/// A field of a configuration struct.
pub(crate) trait Field: Sized {
    /// Its default value.
    const DEFAULT: Self;

    /// The field, if it is a parameter.
    fn parameter(&mut self) -> Option<&mut u64> {
        None
    }
}

impl Field for u32 {
    const DEFAULT: u32 = 0;
}

impl Field for u64 {
    const DEFAULT: u64 = GQ_DEFAULT;

    fn parameter(&mut self) -> Option<&mut u64> {
        Some(self)
    }
}

impl Field for [u64; 20] {
    const DEFAULT: [u64; 20] = [GQ_DEFAULT; 20];
}

/// Declares a struct whose fields can also be found by name. A field without a comment is a parameter of the
/// catalogue; the header takes its description from there. A new parameter is one more line at the end.
macro_rules! config {
    (
        $(#[$meta:meta])*
        pub(crate) struct $Config:ident { $($(#[$doc:meta])* pub(crate) $field:ident: $kind:ty,)+ }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $Config { $($(#[$doc])* pub(crate) $field: $kind,)+ }

        impl $Config {
            /// The names of all fields.
            pub(crate) const FIELDS: &[&str] = &[$(stringify!($field)),+];

            /// Every parameter at its default.
            pub(crate) const DEFAULT: $Config =
                $Config { $($field: <$kind as $crate::field::Field>::DEFAULT,)+ };

            /// The field of a parameter, by its name here or in the catalogue.
            pub(crate) fn parameter(&mut self, name: &str) -> Option<&mut u64> {
                $(if $crate::field::is_named(stringify!($field), name) {
                    return $crate::field::Field::parameter(&mut self.$field);
                })+
                None
            }
        }
    };
}
pub(crate) use config;

/// Whether a field belongs to the parameter of this name: C names cannot contain `-`.
pub(crate) fn is_named(field: &str, name: &str) -> bool {
    field.len() == name.len()
        && field.bytes().zip(name.bytes()).all(|(a, b)| a == b || (a == b'_' && b == b'-'))
}
