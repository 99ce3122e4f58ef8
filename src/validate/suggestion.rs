//! What somebody may have meant.

/// The known word that is nearest to what was written, if any is near.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A longer text is no misspelling, and comparing it with every word would cost.
    if written.len() > 64 {
        return None;
    }
    let written = written.to_lowercase();
    known
        .into_iter()
        .map(|word| (strsim::jaro_winkler(&written, &word.to_lowercase()), word))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, word)| word)
}

/// `did you mean …?`, or the words that are known.
pub(super) fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(written, known.clone()) {
        Some(word) => format!("did you mean {word}?"),
        None => format!("known are: {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn suggests_what_is_near_and_lists_what_is_known_where_nothing_is() {
        let known = ["analysis", "members", "stepWeight"];
        assert_eq!(did_you_mean("anlysis", known), "did you mean analysis?");
        assert_eq!(did_you_mean("stepWieght", known), "did you mean stepWeight?");
        assert_eq!(did_you_mean("xyz", known), "known are: analysis, members, stepWeight");
    }
}
