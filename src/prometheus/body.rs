//! Reads the body of an answer and keeps only what is judged: a body of a mebibyte may hold 29,000 series, and all their
//! labels would take thirty times as much.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{
    Missing,
    answer::{Answer, Point, SERIES, Series, Vector},
};
use crate::http::{sanitise, sanitise_to};

/// Characters that are kept of what Prometheus says about a query.
const TEXT: usize = 200;
/// Bytes of the longest name of a service.
const NAME: usize = 63;

#[derive(Deserialize)]
struct Body {
    status: String,
    #[serde(rename = "errorType")]
    error_type: Option<String>,
    error: Option<String>,
    warnings: Option<Vec<IgnoredAny>>,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    result_type: String,
    result: Reading,
}

/// Reads the body of an answer to an instant query.
///
/// # Errors
/// When it holds no whole vector or scalar.
pub(crate) fn parse(body: &[u8]) -> Result<Answer, Missing> {
    let body: Body = serde_json::from_slice(body).map_err(|_| Missing::Unexpected)?;
    if body.status != "success" {
        let kind = sanitise(body.error_type.as_deref().unwrap_or("no error type"));
        let text = sanitise_to(body.error.as_deref().unwrap_or("no error text"), TEXT);
        return Err(Missing::Refused { kind, text });
    }
    let warnings = body.warnings.map_or(0, |warnings| warnings.len());
    if warnings > 0 {
        return Err(Missing::Partial(warnings));
    }
    let data = body.data.ok_or(Missing::Unexpected)?;
    match data.result_type.as_str() {
        "vector" => data.result.vector().map(Answer::Vector),
        "scalar" => data.result.point().map(Answer::Scalar),
        other => Err(Missing::Type(sanitise(other))),
    }
}

/// A result, whose type stands beside it and may follow it: the elements of an array.
#[derive(Default)]
struct Reading {
    vector: Vector,
    scalar: [Option<Atom>; 2],
    problem: Option<Missing>,
}

/// An element of a result: a series of a vector, or a half of a point.
enum Element {
    Series(Result<Series, Missing>),
    Atom(Atom),
}

/// What a point is made of.
#[derive(Clone, Copy)]
enum Atom {
    Number(f64),
    /// A number that is written as text, as Prometheus writes values.
    Text(Option<f64>),
    Other,
}

impl Reading {
    fn add(&mut self, place: usize, element: Element) {
        match element {
            Element::Series(Ok(series)) => {
                self.vector.count += 1;
                if self.vector.series.len() < SERIES {
                    self.vector.series.push(series);
                }
            }
            Element::Series(Err(problem)) => self.problem = self.problem.take().or(Some(problem)),
            Element::Atom(atom) => match self.scalar.get_mut(place) {
                Some(half) => *half = Some(atom),
                None => self.problem = Some(Missing::NoValue),
            },
        }
    }

    fn vector(self) -> Result<Vector, Missing> {
        match (self.problem, self.scalar) {
            (Some(problem), _) => Err(problem),
            (None, [None, None]) => Ok(self.vector),
            (None, _) => Err(Missing::Unexpected),
        }
    }

    fn point(self) -> Result<Point, Missing> {
        match (self.problem, self.vector.count, self.scalar) {
            (None, 0, scalar) => point(scalar).ok_or(Missing::NoValue),
            (_, _, _) => Err(Missing::NoValue),
        }
    }
}

/// `[1700000000.123, "0.5"]`
const fn point(halves: [Option<Atom>; 2]) -> Option<Point> {
    match halves {
        [Some(Atom::Number(time)), Some(Atom::Text(Some(value)))] => Some(Point { time, value }),
        _ => None,
    }
}

impl<'de> Deserialize<'de> for Reading {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = Reading;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the result of a query")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Reading, A::Error> {
                let mut reading = Reading::default();
                let mut place = 0;
                while let Some(element) = elements.next_element()? {
                    reading.add(place, element);
                    place += 1;
                }
                Ok(reading)
            }
        }
        deserializer.deserialize_seq(Elements)
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

impl<'de> Deserialize<'de> for Atom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match deserializer.deserialize_any(Anything)? {
            Element::Atom(atom) => atom,
            Element::Series(_) => Self::Other,
        })
    }
}

/// Takes any JSON; an object is read as a series.
struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Element;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a series or a part of a point")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Element, E> {
        Ok(Element::Atom(Atom::Other))
    }

    #[allow(clippy::cast_precision_loss)] // a time in seconds fits a double's 53 bits; anything larger is stale
    fn visit_i64<E: Error>(self, number: i64) -> Result<Element, E> {
        Ok(Element::Atom(Atom::Number(number as f64)))
    }

    #[allow(clippy::cast_precision_loss)] // as above
    fn visit_u64<E: Error>(self, number: u64) -> Result<Element, E> {
        Ok(Element::Atom(Atom::Number(number as f64)))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Element, E> {
        Ok(Element::Atom(Atom::Number(number)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Element, E> {
        Ok(Element::Atom(Atom::Text(text.parse().ok())))
    }

    fn visit_unit<E: Error>(self) -> Result<Element, E> {
        Ok(Element::Atom(Atom::Other))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Element, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Element::Atom(Atom::Other))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Element, A::Error> {
        let (mut labels, mut read) = (Labels::default(), Err(Missing::NoValue));
        while let Some(field) = fields.next_key::<Field>()? {
            match field {
                Field::Metric => labels = fields.next_value::<Option<Labels>>()?.unwrap_or_default(),
                Field::Value if matches!(read, Err(Missing::NativeHistogram)) => {
                    fields.next_value::<IgnoredAny>()?;
                }
                Field::Value => read = fields.next_value::<Halves>()?.0.ok_or(Missing::NoValue),
                Field::Histogram => {
                    fields.next_value::<IgnoredAny>()?;
                    read = Err(Missing::NativeHistogram);
                }
                Field::Other => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        let Labels { le, service } = labels;
        let service = service.and_then(|Name(name)| name);
        Ok(Element::Series(read.map(|point| Series { service, le: le.map(|Bound(bound)| bound), point })))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Field {
    Metric,
    Value,
    Histogram,
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
struct Labels {
    le: Option<Bound>,
    service: Option<Name>,
}

/// A label that should be the name of a service; nothing if it cannot be one.
struct Name(Option<Box<str>>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Option::<String>::deserialize(deserializer)?;
        Ok(Self(name.filter(|name| name.len() <= NAME).map(String::into_boxed_str)))
    }
}

/// A label that should be a number; not a number if it is none.
struct Bound(f64);

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let atom = Atom::deserialize(deserializer)?;
        Ok(Self(if let Atom::Text(Some(bound)) = atom { bound } else { f64::NAN }))
    }
}

/// The two halves of a point, if they are two and can be read.
struct Halves(Option<Point>);

impl<'de> Deserialize<'de> for Halves {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let whole = Option::<Reading>::deserialize(deserializer)?.unwrap_or_default();
        Ok(Self(whole.point().ok()))
    }
}
