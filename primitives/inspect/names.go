package inspect

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// sides begin the names of keys before the tagged key of an object, and suffixes end them behind it.
	sides = []string{
		"redisson_lock_token", "hasp_lock_holder", "redisson_lock_queue", "redisson_lock_timeout", "hasp_lock_deadline",
		"hasp_rwlock_writer", "hasp_latch_parts", "hasp_mutex",
	}
	suffixes = []string{":completed", ":timeout", ":owner", ":counter", ":value", ":permits", ":allocation"}

	// mutexSuffixes end the names of keys of a mutex.
	mutexSuffixes = []string{":token", ":queue", ":signs"}
)

// nameOf returns the name of the object that a key is of, if it is of one, and whether it is one of its side keys.
func nameOf(key, prefix string) (name string, side, ok bool) {
	tagged, side := cutSide(key)
	if side {
		key = untagged(tagged)
	}
	if strings.Contains(key, ":rwlock_timeout:") {
		return "", false, false // A reader's lease, whose lock has its own key.
	}
	name, ok = strings.CutPrefix(key, prefix)
	return name, side, ok
}

// cutSide returns the tagged key of the object that a side key is of.
func cutSide(key string) (tagged string, ok bool) {
	for _, side := range sides {
		if rest, is := strings.CutPrefix(key, side+":"); is && strings.Contains(rest, "{") {
			if side == "hasp_mutex" {
				rest = cutOne(rest, mutexSuffixes)
			}
			return rest, true
		}
	}
	tagged = cutOne(key, suffixes)
	return tagged, tagged != key && strings.Contains(tagged, "{")
}

// cutOne returns text without the suffix that it has.
func cutOne(text string, suffixes []string) string {
	i := slices.IndexFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(text, suffix) })
	if i < 0 {
		return text
	}
	return strings.TrimSuffix(text, suffixes[i])
}

// untagged returns the key that is tagged as a whole. It is the reverse of [extend.Tagged].
func untagged(tagged string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(tagged, "{"), "}")
	if len(inner) == len(tagged)-2 && !strings.Contains(inner, "{") {
		return inner
	}
	return tagged
}

// escape returns a pattern that matches text alone.
func escape(text string) string {
	return regexp.MustCompile(`[*?\[\]\\^-]`).ReplaceAllString(text, `\$0`)
}

// glob returns the expression of a pattern as of the command KEYS.
func glob(pattern string) (*regexp.Regexp, error) {
	var b strings.Builder
	for rest := pattern; rest != ""; {
		part := globPart.FindString(rest)
		rest = rest[len(part):]
		switch {
		case part == "*":
			b.WriteString(".*")
		case part == "?":
			b.WriteString(".")
		case part[0] == '[' && len(part) > 1:
			b.WriteString(part)
		default:
			b.WriteString(regexp.QuoteMeta(strings.TrimPrefix(part, `\`)))
		}
	}
	return regexp.Compile(`(?s)\A` + b.String() + `\z`)
}

// globPart is one part of a pattern: a class, an escaped character, or a character.
var globPart = regexp.MustCompile(`(?s)\A(?:\[[^\]]+\]|\\.|.)`)
