// Package planted_test judges the tests: each bug of the folder bugs is put into hasp's code, and the test that is named
// with it must find it. A new mechanism or primitive brings two bugs or more.
package planted_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/contract"
)

// root is the folder of the repository.
const root = "../.."

// seed is a bug: some text of one file that is replaced by another.
type seed struct {
	name  string
	file  string // from root
	edits edits
	found []finder // each must find it
}

// edits are pairs of a text, which must be in the file exactly once, and what replaces it.
type edits [][2]string

// seeds returns all bugs.
var seeds = sync.OnceValue(func() (all []seed) {
	files, err := filepath.Glob("bugs/*.diff")
	for _, file := range files {
		var more []seed
		if more, err = read(file); err != nil {
			break
		}
		all = append(all, more...)
	}
	if err != nil || len(all) == 0 {
		panic(fmt.Sprintf("no bugs: %v", err))
	}
	return all
})

// form is that of a bug after "# ": its name, what finds it, and the edits, as in a diff. The file is that after the last
// "## ". finderForm is the folder of a test that finds the bug, the test, and how often that is run at most.
var (
	form       = regexp.MustCompile(`(?s)^ ([^\n:]+): ([^\n]+)\n(.*)$`)
	finderForm = regexp.MustCompile(`^(\S+) (\S+)(?: x(\d+))?$`)
)

// read returns the bugs of a file, which begins with a text about all of them.
func read(path string) (all []seed, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // Ours.
	if err != nil {
		return nil, err
	}
	_, bugs, _ := strings.Cut(string(text), "\n#")
	file := ""
	for bug := range strings.SplitSeq(bugs, "\n#") {
		if of, is := strings.CutPrefix(bug, "# "); is {
			file = strings.TrimSpace(of)
			continue
		}
		parts := form.FindStringSubmatch(bug)
		if parts == nil {
			return nil, fmt.Errorf("%s: not a bug: %q", path, bug)
		}
		s := seed{name: parts[1], file: file, edits: editsOf(parts[3])}
		for text := range strings.SplitSeq(parts[2], " and ") {
			found := finderForm.FindStringSubmatch(text)
			if found == nil {
				return nil, fmt.Errorf("%s: not a test: %q", path, text)
			}
			runs, _ := strconv.Atoi(found[3])
			s.found = append(s.found, finder{found[1], found[2], runs})
		}
		all = append(all, s)
	}
	return all, nil
}

// editsOf reads edits, which lines "@" separate. A line is replaced after "-", replaces after "+", and stays after a
// space. The first and the last may be a part of a line. Without a line that replaces or stays, whole lines go.
func editsOf(diff string) (all edits) {
	for edit := range strings.SplitSeq(strings.TrimRight(diff, "\n"), "\n@\n") {
		var was, is []string
		for line := range strings.SplitSeq(edit, "\n") {
			text := line[min(1, len(line)):]
			if !strings.HasPrefix(line, "+") {
				was = append(was, text)
			}
			if !strings.HasPrefix(line, "-") {
				is = append(is, text)
			}
		}
		if len(is) == 0 {
			was = append(was, "")
		}
		all = append(all, [2]string{strings.Join(was, "\n"), strings.Join(is, "\n")})
	}
	return all
}

// id is the name of s in programs.
func (s seed) id() string { return subtest(s.name) }

// apply returns the path of the file, and its text with the bug.
func (s seed) apply() (path, bad string, err error) {
	if path, err = filepath.Abs(filepath.Join(root, s.file)); err != nil {
		return "", "", err
	}
	text, err := os.ReadFile(path) //nolint:gosec // Ours.
	if err != nil {
		return "", "", err
	}
	bad = string(text)
	for _, edit := range s.edits {
		if n := strings.Count(bad, edit[0]); n != 1 {
			return "", "", fmt.Errorf("%s no longer fits: %s has %q %d times", s.name, s.file, edit[0], n)
		}
		bad = strings.Replace(bad, edit[0], edit[1], 1)
	}
	return path, bad, nil
}

// TestSeedsFit: the code still has what each bug replaces, a switch can replace it, and the bug compiles, so it is not
// "make prove" that says so.
func TestSeedsFit(t *testing.T) {
	t.Parallel()
	files, err := plantAll(seeds())
	require.NoError(t, err)
	wrong, err := files.wrong()
	require.NoError(t, err)
	require.Empty(t, wrong, "they do not compile")
	ids := map[string]bool{}
	for _, s := range seeds() {
		require.False(t, ids[s.id()], "two bugs are named %s", s.id())
		ids[s.id()] = true
	}
}

// TestEveryCaseHasABug: of each case of the contract there is a bug that it must find. No adapter is without pub/sub:
// conformance/matrix/lacking judges the case about that.
func TestEveryCaseHasABug(t *testing.T) {
	t.Parallel()
	named := map[string]bool{"SubscribeWithoutPubSubIsRefused": true}
	for _, f := range finders() {
		named[path.Base(f.test)] = true
	}
	for _, c := range slices.Concat(contract.RunnerCases(), contract.SubscriberCases()) {
		require.True(t, named[c.Name], "no bug is for %s", c.Name)
	}
}

// subtest makes a subtest's name of words.
func subtest(words string) string {
	var name strings.Builder
	for word := range strings.FieldsFuncSeq(words, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}
