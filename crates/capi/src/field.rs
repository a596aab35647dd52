//! Fields of C's structs by their names.

use crate::abi::GQ_DEFAULT;

/// A field of a struct that sets something up.
pub(crate) trait Field: Sized {
    /// What it is where nothing is said.
    const DEFAULT: Self;

    /// The field of a parameter.
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

/// Declares a struct whose fields are found by their names too. A field without a comment is a parameter of
/// the catalogue, whose words the header takes: a new parameter is one more line at the end.
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

            /// The field of a parameter, by the name that it has here or in the catalogue.
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

/// Whether a field is the parameter's of this name: C has no `-` in names.
pub(crate) fn is_named(field: &str, name: &str) -> bool {
    field.len() == name.len()
        && field.bytes().zip(name.bytes()).all(|(a, b)| a == b || (a == b'_' && b == b'-'))
}
