//! One parameter as data, and the macro that declares the parameters of a queue: [`params!`].

use super::value::{Unit, Value};
use super::{BuildError, Conflict, Link, ValueError};
use crate::{Bytes, Needs, Rate, Span};

/// What applies if a parameter is not given.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    /// It must be given.
    Required,
    /// This value.
    Value(fn() -> Option<Value>),
    /// No value: the mechanism is off. The word `off` sets this explicitly.
    Off,
    /// This multiple of the link's MTU including the link header, bytes.
    Mtus(u32),
    /// It is computed from other parameters by this formula.
    Derived(&'static str),
    /// This queue.
    Queue(&'static str),
}

/// One parameter of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in tc.
    pub name: &'static str,
    /// Its other names in tc.
    pub aliases: &'static [&'static str],
    /// The unit of its value.
    pub unit: Unit,
    /// What applies if it is not given.
    pub default: Default,
    /// Minimum and maximum; `None`: any value of the unit.
    pub range: Option<(Value, Value)>,
    /// A description in one line.
    pub doc: &'static str,
    /// Where it is defined: an RFC section or a function of Linux 6.1.
    pub source: &'static str,
}

impl Parameter {
    /// Whether it is required.
    #[must_use]
    pub const fn is_required(&self) -> bool {
        matches!(self.default, Default::Required)
    }

    /// Whether `name` is its name or another of its names in tc; case does not matter.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }

    /// Fails if `value` is out of range.
    ///
    /// # Errors
    /// [`ValueError::OutOfRange`].
    pub fn check(&self, value: Value) -> Result<Value, ValueError> {
        match self.range {
            Some((min, max)) if value.order() < min.order() || value.order() > max.order() => {
                Err(ValueError::OutOfRange)
            }
            _ => Ok(value),
        }
    }

    /// Reads `text` as a value within the range; `Ok(None)` means `off`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&self, text: &str) -> Result<Option<Value>, ValueError> {
        if matches!(self.default, Default::Off) && text.trim().eq_ignore_ascii_case("off") {
            return Ok(None);
        }
        self.check(self.unit.read(text)?).map(Some)
    }
}

/// Unit and range of a parameter, as `params!` takes them.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub(crate) unit: Unit,
    pub(crate) range: Option<(Value, Value)>,
    pub(crate) aliases: &'static [&'static str],
}

const fn kind(unit: Unit, min: Value, max: Value) -> Kind {
    Kind { unit, range: Some((min, max)), aliases: &[] }
}

impl Kind {
    /// The same with further names in tc.
    pub(crate) const fn also(mut self, aliases: &'static [&'static str]) -> Kind {
        self.aliases = aliases;
        self
    }
}

/// Packets.
pub(crate) const fn packets(min: u64, max: u64) -> Kind {
    kind(Unit::Packets, Value::Number(min), Value::Number(max))
}
/// A number without a unit.
pub(crate) const fn count(min: u64, max: u64) -> Kind {
    kind(Unit::Count, Value::Number(min), Value::Number(max))
}
/// A power of two without a unit.
pub(crate) const fn power_of_two(min: u64, max: u64) -> Kind {
    kind(Unit::PowerOfTwo, Value::Number(min), Value::Number(max))
}
/// Bytes.
pub(crate) const fn bytes(min: u64, max: u64) -> Kind {
    kind(Unit::Bytes, Value::Bytes(Bytes(min)), Value::Bytes(Bytes(max)))
}
/// Bytes; may be negative.
pub(crate) const fn signed(min: i64, max: i64) -> Kind {
    kind(Unit::Signed, Value::Signed(min), Value::Signed(max))
}
/// A time.
pub(crate) const fn time(min: Span, max: Span) -> Kind {
    kind(Unit::Time, Value::Time(min), Value::Time(max))
}
/// A time, or a word that means one.
pub(crate) const fn time_or(words: &'static [(&'static str, Span)], min: Span, max: Span) -> Kind {
    kind(Unit::TimeOr(words), Value::Time(min), Value::Time(max))
}
/// Any time, or a number of packets up to `max`.
pub(crate) const fn time_or_packets(max: u64) -> Kind {
    kind(Unit::TimeOrPackets, Value::Time(Span::ZERO), Value::Packets(max))
}
/// A rate.
pub(crate) const fn rate(min: Rate, max: Rate) -> Kind {
    kind(Unit::Rate, Value::Rate(min), Value::Rate(max))
}
/// A number with decimal places, at least 0, stored in millionths.
pub(crate) const fn decimal(max: u64) -> Kind {
    kind(Unit::Decimal, Value::Millionths(0), Value::Millionths(max))
}
/// On or off.
pub(crate) const SWITCH: Kind = Kind { unit: Unit::Switch, range: None, aliases: &[] };
/// Sixteen hexadecimal digits.
pub(crate) const DIGITS: Kind = Kind { unit: Unit::Digits, range: None, aliases: &[] };
/// A word of an enum.
pub(crate) const fn word<T: Word>() -> Kind {
    Kind { unit: Unit::Word(T::WORDS), range: None, aliases: &[] }
}

/// An enum whose values have words.
pub trait Word: Copy + PartialEq + 'static {
    /// The words, in the order of [`Word::ALL`].
    const WORDS: &'static [&'static str];
    /// The values.
    const ALL: &'static [Self];

    /// The word of this value.
    fn word(self) -> Option<&'static str> {
        let at = Self::ALL.iter().position(|known| *known == self)?;
        Self::WORDS.get(at).copied()
    }
}

/// Assigns words to the values of an enum.
macro_rules! words {
    ($kind:ty: $($variant:ident = $word:literal),+ $(,)?) => {
        impl $crate::spec::Word for $kind {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const ALL: &'static [Self] = &[$(Self::$variant),+];
        }
    };
}
pub(crate) use words;

/// The type of a parameter's field.
pub trait Field: Copy + PartialEq {
    /// The field's value if the parameter is not given and has no default.
    const UNSET: Self;
    /// The value of a field of this unit; `None` if it has none.
    fn value(self, unit: Unit) -> Option<Value>;
    /// The field for a value within the parameter's range; `None` for a value of another unit.
    fn of(value: Value) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),+) => {$(
        impl Field for $number {
            const UNSET: Self = 0;
            fn value(self, unit: Unit) -> Option<Value> {
                unit.value(self.into())
            }
            fn of(value: Value) -> Option<Self> {
                match value {
                    Value::Number(number) | Value::Millionths(number) => number.try_into().ok(),
                    Value::Bytes(bytes) => bytes.0.try_into().ok(),
                    _ => None,
                }
            }
        }
    )+};
}
numbers!(u8, u16, u32, u64);

/// A field whose values are those of one variant of [`Value`].
macro_rules! fields {
    ($($field:ty = $unset:expr, $value:ident => $to:expr, $back:ident => $from:expr;)+) => {$(
        impl Field for $field {
            const UNSET: Self = $unset;
            fn value(self, _: Unit) -> Option<Value> {
                let $value = self;
                Some($to)
            }
            fn of(value: Value) -> Option<Self> {
                let $back = value;
                $from
            }
        }
    )+};
}
fields! {
    i16 = 0, v => Value::Signed(v.into()), v => if let Value::Signed(v) = v { v.try_into().ok() } else { None };
    bool = false, v => Value::Switch(v), v => if let Value::Switch(v) = v { Some(v) } else { None };
    Span = Span::ZERO, v => Value::Time(v), v => if let Value::Time(v) = v { Some(v) } else { None };
    Rate = Rate(0), v => Value::Rate(v), v => if let Value::Rate(v) = v { Some(v) } else { None };
    [u8; 16] = [0; 16], v => Value::Digits(number_of(v)), v => if let Value::Digits(v) = v { Some(digits_of(v)) } else { None };
}

/// Sixteen hexadecimal digits as a number, and back.
fn number_of(digits: [u8; 16]) -> u64 {
    digits.iter().fold(0, |number, &digit| number << 4 | u64::from(digit & 15))
}
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn digits_of(number: u64) -> [u8; 16] {
    core::array::from_fn(|at| (number >> (60 - 4 * at)) as u8 & 15)
}

impl<T: Word> Field for T {
    const UNSET: Self = T::ALL[0];
    fn value(self, _: Unit) -> Option<Value> {
        self.word().map(Value::Word)
    }
    fn of(value: Value) -> Option<Self> {
        let Value::Word(word) = value else { return None };
        let at = T::WORDS.iter().position(|known| *known == word)?;
        T::ALL.get(at).copied()
    }
}

impl<T: Field> Field for Option<T> {
    const UNSET: Self = None;
    fn value(self, unit: Unit) -> Option<Value> {
        self?.value(unit)
    }
    fn of(value: Value) -> Option<Self> {
        T::of(value).map(Some)
    }
}

/// The parameters of one kind of queue, as `params!` declares them.
pub trait Parameters: Copy + PartialEq + 'static {
    /// The name of the queue.
    const NAME: &'static str;
    /// One line on what the queue does.
    const DOC: &'static str;
    /// Where the queue is defined.
    const SOURCE: &'static str;
    /// Whether the first parameter may be written `name:value`.
    const POSITIONAL: bool;
    /// The parameters, in the order in which they are listed and written.
    const LIST: &'static [Parameter];
    /// Every parameter at its default; required parameters are 0.
    const DEFAULT: Self;
}

/// The parameters of one queue by their index in the list.
pub trait Access {
    /// The value of the parameter with index `at`. `None`: it is off, or depends on the link or on other
    /// parameters.
    fn get(&self, at: usize) -> Option<Value>;

    /// Sets the parameter with index `at`. `false`: its field cannot hold this value and is unchanged.
    fn set(&mut self, at: usize, value: Value) -> bool;
}

/// Properties of a queue that follow from its parameters.
pub trait Properties: Access {
    /// Fails if parameters contradict each other.
    ///
    /// # Errors
    /// The contradiction.
    fn check(&self) -> Result<(), Conflict> {
        Ok(())
    }

    /// Number of packets for which the queue has places on this link. `leaf` is the number of places of the
    /// queue of each of its classes, if it has classes.
    ///
    /// # Errors
    /// If the queue cannot be built for the link.
    fn places(&self, link: Link, leaf: u64) -> Result<u64, BuildError>;

    /// Number of buckets, or of flows for which there is memory; of each tin if the queue has tins.
    fn flows(&self) -> Option<u32> {
        None
    }

    /// The same in all its tins and instances.
    fn all_flows(&self) -> u64 {
        self.flows().unwrap_or(0).into()
    }

    /// Number of equal queues that it consists of, at least 1. If a port has several lanes, each lane has one
    /// of them.
    fn instances(&self) -> u32 {
        1
    }

    /// The limit in bytes on this link; `None` if the limit is not in bytes, or if there is none for this
    /// link.
    fn limit_bytes(&self, _link: Link) -> Option<u64> {
        None
    }

    /// Maximum memory of the packets queued, bytes, if it has a limit of its own.
    fn memory_limit(&self) -> Option<u32> {
        None
    }

    /// The rate to which the queue shapes all traffic through it.
    fn shaped_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether the queue can hold back the packets that it has.
    fn is_shaper(&self) -> bool {
        self.shaped_rate().is_some()
    }

    /// What it asks about its packets, without the queue of its classes.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The parameter, a limit in bytes, that is too small for a packet of this many bytes.
    fn too_small_for(&self, _frame: u32) -> Option<&'static str> {
        None
    }
}

/// Declares the parameters of a queue, once for all uses: the struct with a typed field for each, its
/// `Default`, the code that reads and writes texts, and the entry in the catalogue with its help. One line
/// each:
///
/// ```text
/// field ["tc's word"]: type = default,   unit and range, "what it does", "source";
/// field ["tc's word"]: type => Required, unit and range, "what it does", "source";
/// ```
///
/// After `=>` comes a [`Default`] for which the type has no value: such a field is an `Option`, or must be
/// given.
macro_rules! params {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Params:ident: $queue:literal $(: $positional:ident)?, $about:literal, $from:literal
            $(, leaf($leaf:literal, $leaf_doc:literal, $leaf_source:literal))?;
        $($field:ident $($word:literal)?: $type:ty $(= $default:expr)? $(=> $kind:expr)?,
            $unit:expr, $doc:literal, $source:literal;)+
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(clippy::struct_excessive_bools, reason = "tc's switches")]
        $vis struct $Params {
            $(
                #[doc = concat!($doc, ". `", stringify!($unit), "`",
                    $(", by default `", stringify!($default), "`",)? $(", by default `", stringify!($kind), "`",)?
                    ". ", $source, ".")]
                pub $field: $type,
            )+
        }

        impl $crate::spec::Parameters for $Params {
            const NAME: &'static str = $queue;
            const DOC: &'static str = $about;
            const SOURCE: &'static str = $from;
            const POSITIONAL: bool = !stringify!($($positional)?).is_empty();
            const LIST: &'static [$crate::spec::Parameter] = {
                #[allow(unused_imports, reason = "not every queue has every unit")]
                use $crate::spec::parameter::{
                    DIGITS, SWITCH, bytes, count, decimal, packets, power_of_two, rate, signed, time, time_or,
                    time_or_packets, word,
                };
                #[allow(unused_imports, reason = "not every queue has every default")]
                use $crate::spec::Default::{Derived, Mtus, Off, Required};
                &[
                    $({
                        const KIND: $crate::spec::Kind = $unit;
                        $crate::spec::Parameter {
                            name: params!(@name $field $($word)?),
                            aliases: KIND.aliases,
                            unit: KIND.unit,
                            default: params!(@default $type, KIND $(, $default)? $(=> $kind)?),
                            range: KIND.range,
                            doc: $doc,
                            source: $source,
                        }
                    },)+
                    $($crate::spec::Parameter {
                        name: "leaf",
                        aliases: &[],
                        unit: $crate::spec::Unit::Queue,
                        default: $crate::spec::Default::Queue($leaf),
                        range: None,
                        doc: $leaf_doc,
                        source: $leaf_source,
                    },)?
                ]
            };
            const DEFAULT: Self = $Params { $($field: params!(@unset $type $(, $default)?)),+ };
        }

        impl $crate::spec::Access for $Params {
            fn get(&self, at: usize) -> Option<$crate::spec::Value> {
                let unit = <Self as $crate::spec::Parameters>::LIST.get(at)?.unit;
                let mut fields = 0_usize..;
                $(if fields.next() == Some(at) {
                    return $crate::spec::Field::value(self.$field, unit);
                })+
                None
            }

            fn set(&mut self, at: usize, value: $crate::spec::Value) -> bool {
                let mut fields = 0_usize..;
                $(if fields.next() == Some(at) {
                    let value = $crate::spec::Field::of(value);
                    self.$field = value.unwrap_or(self.$field);
                    return value.is_some();
                })+
                false
            }
        }

        impl Default for $Params {
            /// Every parameter at its default; required parameters are 0.
            fn default() -> Self {
                <$Params as $crate::spec::Parameters>::DEFAULT
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $word:literal) => { $word };
    (@unset $type:ty, $default:expr) => { $default };
    (@unset $type:ty) => { <$type as $crate::spec::Field>::UNSET };
    (@default $type:ty, $unit:ident, $default:expr) => {
        $crate::spec::Default::Value(|| <$type as $crate::spec::Field>::value($default, $unit.unit))
    };
    (@default $type:ty, $unit:ident => $kind:expr) => { $kind };
}
pub(crate) use params;
