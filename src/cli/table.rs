//! A table that fits a width: titles are folded into two lines before columns are left out. Pure.

/// Columns between two columns.
const GAP: usize = 2;

/// Where the text of a column stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// The title of a column, and how readily it is left out.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) title: String,
    /// Unit or limit; below the title where there is no room beside it.
    pub(super) detail: String,
    pub(super) align: Align,
    /// The largest is left out first; 0 never.
    pub(super) rank: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Line {
    /// One cell for each column.
    Cells(Vec<String>),
    /// A text across all columns, laid out already.
    Text(String),
}

pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) lines: Vec<Line>,
}

/// A table as it fits.
pub(super) struct Fitted {
    pub(super) text: String,
    /// The titles of the columns for which there was no room.
    pub(super) left_out: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Whole,
    Folded,
    LeftOut,
}

impl Column {
    pub(super) fn new(title: impl Into<String>, detail: impl Into<String>, align: Align, rank: usize) -> Self {
        Self { title: title.into(), detail: detail.into(), align, rank }
    }

    fn whole(&self) -> String {
        if self.detail.is_empty() { self.title.clone() } else { format!("{} {}", self.title, self.detail) }
    }
}

impl Table {
    /// Folds titles from the left, then leaves out columns by rank, until every line has at most `most` columns.
    pub(super) fn fit(&self, most: usize) -> Fitted {
        let mut forms = vec![Form::Whole; self.columns.len()];
        while self.width(&forms) > most {
            match self.next_to_shrink(&forms) {
                Some((index, form)) => forms[index] = form,
                None => break,
            }
        }
        let left_out = self.columns.iter().zip(&forms).filter(|(_, form)| **form == Form::LeftOut);
        Fitted { text: self.text(&forms), left_out: left_out.map(|(column, _)| column.whole()).collect() }
    }

    fn next_to_shrink(&self, forms: &[Form]) -> Option<(usize, Form)> {
        let columns = || self.columns.iter().zip(forms).enumerate();
        let folds = columns().find(|(_, (column, form))| **form == Form::Whole && !column.detail.is_empty());
        let stays = |form: &Form| *form != Form::LeftOut;
        let goes = columns().filter(|(_, (column, form))| stays(form) && column.rank > 0);
        folds
            .map(|(index, _)| (index, Form::Folded))
            .or_else(|| goes.max_by_key(|(_, (column, _))| column.rank).map(|(index, _)| (index, Form::LeftOut)))
    }

    fn width(&self, forms: &[Form]) -> usize {
        let widths: Vec<usize> = self.widths(forms).into_iter().flatten().collect();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    /// The width of each column; none of one that is left out.
    fn widths(&self, forms: &[Form]) -> Vec<Option<usize>> {
        let width = |(index, (column, form)): (usize, (&Column, &Form))| {
            let cells = self.lines.iter().filter_map(|line| match line {
                Line::Cells(cells) => cells.get(index).map(|cell| cell.chars().count()),
                Line::Text(_) => None,
            });
            let title = match form {
                Form::Whole => column.whole().chars().count(),
                Form::Folded => column.title.chars().count().max(column.detail.chars().count()),
                Form::LeftOut => return None,
            };
            Some(cells.fold(title, usize::max))
        };
        self.columns.iter().zip(forms).enumerate().map(width).collect()
    }

    fn text(&self, forms: &[Form]) -> String {
        let widths = self.widths(forms);
        let heads = self.columns.iter().zip(forms).map(|(column, form)| match form {
            Form::Whole => (column.whole(), String::new()),
            Form::Folded | Form::LeftOut => (column.title.clone(), column.detail.clone()),
        });
        let (titles, details): (Vec<String>, Vec<String>) = heads.unzip();
        let mut text = self.line(&titles, &widths);
        if forms.contains(&Form::Folded) {
            text += &self.line(&details, &widths);
        }
        for line in &self.lines {
            match line {
                Line::Cells(cells) => text += &self.line(cells, &widths),
                Line::Text(words) => text.extend([words.as_str(), "\n"]),
            }
        }
        text
    }

    fn line(&self, cells: &[String], widths: &[Option<usize>]) -> String {
        let cell = |((column, cell), width): ((&Column, &String), &Option<usize>)| {
            let width = (*width)?;
            Some(match column.align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            })
        };
        let cells: Vec<String> = self.columns.iter().zip(cells).zip(widths).filter_map(cell).collect();
        format!("{}\n", cells.join(&" ".repeat(GAP)).trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::{Align, Column, Line, Table};

    fn table() -> Table {
        let columns = vec![
            Column::new("NAME", "", Align::Left, 0),
            Column::new("ERRORS", "<= 1 %", Align::Right, 2),
            Column::new("SAMPLES", "", Align::Right, 1),
        ];
        let cells = |cells: [&str; 3]| Line::Cells(cells.map(str::to_owned).into());
        Table { columns, lines: vec![cells(["eu-1", "0.06", "120"]), Line::Text("└─".to_owned())] }
    }

    #[test]
    fn what_fits_is_shown_in_whole() {
        let shown = table().fit(28);
        assert_eq!(shown.text, "NAME  ERRORS <= 1 %  SAMPLES\neu-1           0.06      120\n└─\n");
        assert!(shown.left_out.is_empty());
    }

    #[test]
    fn titles_fold_before_a_column_goes_and_it_is_named() {
        let shown = table().fit(21);
        assert_eq!(shown.text, "NAME  ERRORS  SAMPLES\n      <= 1 %\neu-1    0.06      120\n└─\n");
        let shown = table().fit(20);
        assert_eq!(shown.text, "NAME  SAMPLES\neu-1      120\n└─\n");
        assert_eq!(shown.left_out, ["ERRORS <= 1 %"]);
    }

    #[test]
    fn what_is_never_left_out_stays_however_narrow_it_is() {
        assert_eq!(table().fit(1).text, "NAME\neu-1\n└─\n");
    }
}
