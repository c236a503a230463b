package parse

import (
	"regexp"
	"strings"
)

var saying = regexp.MustCompile(`\b(?:(KEYS|ARGV)\s*\[\s*(\d+)\s*\]\s*(?:=>|->|[=:–—-]|is\b)*|(key|arg) (\d+) *(?:->|[=:–—-]))\s*([^\r\n]*)`)

var lists = map[string]string{"key": "KEYS", "arg": "ARGV"}

// Said notes what a comment says of elements, such as "KEYS[1] -> the lock", unless something was said of them before.
// It reports whether the comment names one.
func Said(said map[string]string, comment string) bool {
	all := saying.FindAllStringSubmatch(comment, -1)
	for _, m := range all {
		element, text := m[1]+lists[m[3]]+"["+m[2]+m[4]+"]", strings.TrimSpace(strings.TrimRight(m[5], "-]* \t"))
		if said[element] == "" && text != "" && !strings.ContainsAny(text[:1], ",.)]=") {
			said[element] = text
		}
	}
	return len(all) > 0
}
