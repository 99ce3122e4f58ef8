# For scripts that change sources: a copy that is built again only where it changed. To be sourced.

# The sources as they are, committed or not, into $1.
copy_sources() {
  git ls-files -z --cached --others --exclude-standard | perl -0ne 'chomp; print "$_\0" if -e' |
    tar --null --files-from=- --create --file=- | tar --extract --file=- --directory="$1"
}

# cargo tells packages of one name and version apart by their place in a workspace only, and would link the library of a
# copy into the real program: the copy in $1 gets the version $2. Third-party crates are those that are compiled already.
set_version() {
  sed -i "0,/^version = .*/s//version = \"$2\"/" "$1/Cargo.toml"
}

# cargo joins the settings of all folders above a package: in a copy within this repository the repository's would count
# twice, and every dependency would be compiled again. So $1 keeps none of its own if it is built in $2 within it.
single_settings() {
  case $(realpath --canonicalize-missing "$2") in "$PWD"/*) rm -r "$1/.cargo" ;; esac
}

# Makes $2 the same as $1. Files that did not change keep their times.
update() {
  mkdir -p "$2"
  (cd "$2" && find . -type f -print0) | while IFS= read -rd '' file; do [ -e "$1/$file" ] || rm "$2/$file"; done
  (cd "$1" && find . -type f -print0) | while IFS= read -rd '' file; do
    cmp --silent "$1/$file" "$2/$file" || { mkdir -p "$2/${file%/*}" && cp "$1/$file" "$2/$file"; }
  done
}
