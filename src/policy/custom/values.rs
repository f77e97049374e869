//! The JSON of a plan as CEL values: nothing is copied, and all that is touched is counted.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cel::ExecutionError;
use cel::common::traits::{Container, Indexer, Iterable, Iterator as CelIterator, Sizer};
use cel::common::types::{
    BOOL_TYPE, CelBool, CelDouble, CelInt, CelList, CelNull, CelString, CelUInt, Kind, MAP_TYPE,
    Type,
};
use cel::common::value::{CowVal, Val};
use serde_json::{Map, Value};

use super::UNKNOWN;

/// How much all custom rules together may do in one run. Counted, not timed: the same plan has the same verdict on every machine.
#[derive(Debug)]
pub struct Work(AtomicU64);

/// Steps of evaluation in one run; some seconds on a slow machine.
const DEFAULT_STEPS: u64 = 100_000_000;

impl Default for Work {
    fn default() -> Self {
        Self::new(DEFAULT_STEPS)
    }
}

impl Work {
    /// At most this many steps.
    #[must_use]
    pub fn new(steps: u64) -> Self {
        Self(AtomicU64::new(steps))
    }

    /// Takes `steps`, or everything that is left.
    fn take(&self, steps: u64) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(steps))
            })
            .is_ok_and(|left| left >= steps)
    }
}

/// What one evaluation touched.
pub(super) struct Meter<'w> {
    work: &'w Work,
    /// Steps that each item of data can cost in this expression.
    weight: u64,
    exhausted: AtomicBool,
    unknown: AtomicBool,
}

impl<'w> Meter<'w> {
    pub(super) fn new(work: &'w Work, weight: u64) -> Self {
        Self {
            work,
            weight,
            exhausted: AtomicBool::new(false),
            unknown: AtomicBool::new(false),
        }
    }

    /// Pays for `items`; false when nothing is left.
    pub(super) fn pay(&self, items: usize) -> bool {
        let steps = u64::try_from(items)
            .unwrap_or(u64::MAX)
            .saturating_mul(self.weight);
        if self.is_exhausted() || !self.work.take(steps) {
            self.exhausted.store(true, Ordering::Relaxed);
            return false;
        }
        true
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed)
    }

    pub(super) fn met_unknown(&self) -> bool {
        self.unknown.load(Ordering::Relaxed)
    }
}

/// Characters of a text that cost as much as one item.
const TEXT_PER_ITEM: usize = 64;

/// One JSON value. Lists are CEL's own, so that they compare with literals; mappings stay where they are.
pub(super) fn convert<'v>(
    value: &'v Value,
    meter: &'v Meter<'v>,
) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    Ok(match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(value) => Box::new(CelBool::from(*value)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Box::new(CelInt::from(value)),
            (None, Some(value)) => Box::new(CelUInt::from(value)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) if text == UNKNOWN => {
            meter.unknown.store(true, Ordering::Relaxed);
            return Err(ExecutionError::function_error(
                "_._",
                "not known before the deploy",
            ));
        }
        Value::String(text) => {
            paid(meter, 1 + text.len() / TEXT_PER_ITEM)?;
            Box::new(CelString::from(text.as_str()))
        }
        Value::Array(items) => {
            paid(meter, 1 + items.len())?;
            let items = items
                .iter()
                .map(|item| convert(item, meter))
                .collect::<Result<Vec<_>, _>>()?;
            Box::new(CelList::from(items))
        }
        Value::Object(map) => {
            paid(meter, 1)?;
            Box::new(Object {
                map,
                meter,
                keys: OnceLock::new(),
            })
        }
    })
}

fn paid(meter: &Meter<'_>, items: usize) -> Result<(), ExecutionError> {
    if meter.pay(items) {
        Ok(())
    } else {
        Err(ExecutionError::function_error("_._", "too much work"))
    }
}

/// A JSON object.
struct Object<'v> {
    map: &'v Map<String, Value>,
    meter: &'v Meter<'v>,
    keys: OnceLock<Vec<CelString<'v>>>,
}

impl fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values may be secrets.
        f.write_str("Object")
    }
}

impl<'v> Object<'v> {
    fn field<'w>(&self, key: &dyn Val) -> Result<Box<dyn Val + 'w>, ExecutionError>
    where
        Self: 'w,
        'v: 'w,
    {
        let Some(name) = key.downcast_ref::<CelString<'_>>() else {
            return Err(ExecutionError::UnexpectedType {
                got: key.get_type().name().to_owned(),
                want: "the name of a field".to_owned(),
            });
        };
        match self.map.get(name.inner()) {
            Some(value) => convert(value, self.meter).map(|value| value as Box<dyn Val + 'w>),
            None => Err(ExecutionError::no_such_key(name.inner())),
        }
    }
}

impl<'v> Val for Object<'v> {
    fn get_type(&self) -> &Type {
        &MAP_TYPE
    }

    fn cel_type() -> &'static Type {
        &MAP_TYPE
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_indexer<'b, 'w>(&'b self) -> Option<&'b (dyn Indexer + 'w)>
    where
        Self: 'w,
    {
        Some(self)
    }

    fn into_indexer<'w>(self: Box<Self>) -> Option<Box<dyn Indexer + 'w>>
    where
        Self: 'w,
    {
        Some(self)
    }

    fn as_iterable<'b, 'w>(&'b self) -> Option<&'b (dyn Iterable + 'w)>
    where
        Self: 'w,
    {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        if other.get_type().kind() != Kind::Map || !self.meter.pay(1 + self.map.len()) {
            return false;
        }
        let (Some(size), Some(fields)) = (other.as_sizer(), other.as_indexer()) else {
            return false;
        };
        let same_size = i64::try_from(self.map.len()).is_ok_and(|len| *size.size().inner() == len);
        same_size
            && self.map.iter().all(|(name, value)| {
                let (Ok(mine), Ok(theirs)) = (
                    convert(value, self.meter),
                    fields.get(&CelString::from(name.as_str())),
                ) else {
                    return false;
                };
                mine.equals(&*theirs)
            })
    }

    fn clone_as_boxed<'w>(&self) -> Box<dyn Val + 'w>
    where
        Self: 'w,
    {
        Box::new(Self {
            map: self.map,
            meter: self.meter,
            keys: OnceLock::new(),
        })
    }
}

impl Container for Object<'_> {
    fn contains(&self, key: &dyn Val) -> Result<bool, ExecutionError> {
        match key.downcast_ref::<CelString<'_>>() {
            Some(name) => Ok(self.map.contains_key(name.inner())),
            None => Err(ExecutionError::UnexpectedType {
                got: key.get_type().name().to_owned(),
                want: "the name of a field".to_owned(),
            }),
        }
    }
}

impl<'v> Indexer for Object<'v> {
    fn get<'b, 'w>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'w>, ExecutionError>
    where
        Self: 'w,
    {
        self.field(key).map(CowVal::Owned)
    }

    fn steal<'w>(self: Box<Self>, key: &dyn Val) -> Result<Box<dyn Val + 'w>, ExecutionError>
    where
        Self: 'w,
    {
        self.field(key)
    }
}

impl Sizer for Object<'_> {
    fn size(&self) -> CelInt {
        CelInt::from(i64::try_from(self.map.len()).unwrap_or(i64::MAX))
    }
}

impl<'v> Iterable for Object<'v> {
    fn iter<'b, 'w>(&'b self) -> Box<dyn CelIterator<'b, 'w> + 'b>
    where
        Self: 'w,
    {
        let keys: &'b [CelString<'v>] = if self.meter.pay(1 + self.map.len()) {
            self.keys.get_or_init(|| {
                self.map
                    .keys()
                    .map(|key| CelString::from(key.as_str()))
                    .collect()
            })
        } else {
            &[]
        };
        Box::new(Keys(keys.iter()))
    }
}

struct Keys<'b, 'v>(std::slice::Iter<'b, CelString<'v>>);

impl<'b, 'v: 'w, 'w> CelIterator<'b, 'w> for Keys<'b, 'v> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'w)> {
        self.0.next().map(|key| key as &'b (dyn Val + 'w))
    }
}

/// A compiled regular expression: `text in pattern` is what `text.matches("...")` becomes.
#[derive(Debug, Clone)]
pub(super) struct Pattern(pub(super) regex::Regex);

impl Val for Pattern {
    fn get_type(&self) -> &Type {
        &BOOL_TYPE
    }

    fn cel_type() -> &'static Type {
        &BOOL_TYPE
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn clone_as_boxed<'w>(&self) -> Box<dyn Val + 'w>
    where
        Self: 'w,
    {
        Box::new(self.clone())
    }
}

impl Container for Pattern {
    fn contains(&self, text: &dyn Val) -> Result<bool, ExecutionError> {
        match text.downcast_ref::<CelString<'_>>() {
            Some(text) => Ok(self.0.is_match(text.inner())),
            None => Err(ExecutionError::no_such_member_overload(
                "matches",
                vec![text.get_type().name().to_owned(), "string".to_owned()],
            )),
        }
    }
}
