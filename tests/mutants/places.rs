//! The places of a source file that can be changed, found in its syntax tree.

use std::ops::Range;

use anyhow::{Context, Result};
use syn::{
    Arm, BinOp, Block, Expr, ExprBinary, ExprMatch, ExprStruct, ExprUnary, File, ImplItemConst, ImplItemFn, ItemConst,
    ItemFn, ItemStatic, ReturnType, Signature, TraitItemFn,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::listed::Genre;

/// Bytes of the file.
pub type Bytes = Range<usize>;

/// Something that mutants change. Where `fixed` says why, no switch can be laid there.
#[derive(Clone, Debug)]
pub struct Place {
    pub kind: Kind,
    pub fixed: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Body { block: Bytes },
    Binary { left: Bytes, operator: Bytes, right: Bytes },
    Unary { operator: Bytes, operand: Bytes },
    Arm { whole: Bytes, pattern: Bytes, guard: Option<Bytes>, chain: bool },
    Field { whole: Bytes, name: String, value: Bytes, base: Bytes },
}

impl Place {
    /// Whether a mutant of this genre at these bytes is one of this place.
    pub fn is_at(&self, genre: Genre, bytes: &Bytes) -> bool {
        match (&self.kind, genre) {
            (Kind::Body { block }, Genre::FnValue) => block.start <= bytes.start && bytes.end <= block.end,
            (Kind::Binary { operator, .. }, Genre::BinaryOperator)
            | (Kind::Unary { operator, .. }, Genre::UnaryOperator) => operator.start == bytes.start,
            (Kind::Arm { whole, .. }, Genre::MatchArm) | (Kind::Field { whole, .. }, Genre::StructField) => {
                whole.start == bytes.start
            }
            (Kind::Arm { guard: Some(guard), .. }, Genre::MatchArmGuard) => guard.start == bytes.start,
            _ => false,
        }
    }

    fn size(&self) -> usize {
        match &self.kind {
            Kind::Body { block } => block.len(),
            Kind::Binary { .. } | Kind::Unary { .. } | Kind::Arm { .. } | Kind::Field { .. } => 0,
        }
    }
}

/// The places of one file, and the `const` of functions that cannot ask for a switch as long as they have it.
#[derive(Debug, Default)]
pub struct Places {
    pub found: Vec<Place>,
    pub constness: Vec<(Bytes, Bytes)>,
    /// What is matched, and the guards of the arms.
    pub matches: Vec<(Bytes, Vec<Bytes>)>,
    inside: Option<&'static str>,
}

impl Places {
    pub fn of(text: &str) -> Result<Self> {
        let file: File = syn::parse_file(text).context("parsing a source")?;
        let mut places = Self::default();
        places.visit_file(&file);
        Ok(places)
    }

    /// The index of the place that a mutant changes: of several functions the innermost.
    pub fn at(&self, genre: Genre, bytes: &Bytes) -> Option<usize> {
        let there = self.found.iter().enumerate().filter(|(_, place)| place.is_at(genre, bytes));
        there.min_by_key(|(_, place)| place.size()).map(|(index, _)| index)
    }

    fn add(&mut self, kind: Kind, fixed: Option<&'static str>) {
        self.found.push(Place { kind, fixed: self.inside.or(fixed) });
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        let opaque =
            matches!(&signature.output, ReturnType::Type(_, found) if matches!(**found, syn::Type::ImplTrait(_)));
        let block = bytes(block);
        if let Some(token) = &signature.constness {
            self.constness.push((bytes(token), block.clone()));
        }
        self.add(Kind::Body { block }, opaque.then_some("returns `impl Trait`: both values would need one type"));
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = self.inside.replace("a constant cannot ask for a switch");
        visit(self);
        self.inside = before;
    }
}

impl<'ast> Visit<'ast> for Places {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.constant(|places| visit::visit_item_const(places, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast ImplItemConst) {
        self.constant(|places| visit::visit_impl_item_const(places, item));
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.constant(|places| visit::visit_item_static(places, item));
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let chain =
            matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) && (has_let(&binary.left) || has_let(&binary.right));
        let kind = Kind::Binary { left: bytes(&binary.left), operator: bytes(&binary.op), right: bytes(&binary.right) };
        self.add(kind, chain.then_some(CHAIN));
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast ExprUnary) {
        self.add(Kind::Unary { operator: bytes(&unary.op), operand: bytes(&unary.expr) }, None);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, found: &'ast ExprMatch) {
        let guards = found.arms.iter().filter_map(|arm| arm.guard.as_ref()).map(|(_, guard)| bytes(guard));
        self.matches.push((bytes(&found.expr), guards.collect()));
        visit::visit_expr_match(self, found);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        let guard = arm.guard.as_ref().map(|(_, guard)| bytes(guard));
        let chain = arm.guard.as_ref().is_some_and(|(_, guard)| has_let(guard));
        self.add(Kind::Arm { whole: bytes(arm), pattern: bytes(&arm.pat), guard, chain }, None);
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, made: &'ast ExprStruct) {
        if let Some(base) = &made.rest {
            for field in &made.fields {
                let syn::Member::Named(name) = &field.member else { continue };
                let (whole, value, base) = (bytes(field), bytes(&field.expr), bytes(base));
                self.add(Kind::Field { whole, name: name.to_string(), value, base }, None);
            }
        }
        visit::visit_expr_struct(self, made);
    }
}

/// Why an operator beside a `let` has no switch.
pub const CHAIN: &str = "`let` stands only in a chain of `&&`";

/// Whether the operands of this chain of `&&` and `||` bind something.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
            has_let(&binary.left) || has_let(&binary.right)
        }
        _ => false,
    }
}

fn bytes(node: &impl Spanned) -> Bytes {
    node.span().byte_range()
}
