package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The seeds judge the tests of the primitives: each is a bug that is put into their code, and that
// the tests named with it must find. A new primitive brings two or more, in a table of its own.

// seed is a bug: some text of one file that is replaced by another.
type seed struct {
	name  string
	file  string // from the folder primitives
	edits edits
	found finder // what must find it
}

// id is the name of s in programs.
func (s seed) id() string { return subtest(s.name) }

// apply returns the path of the file, and its text with the bug.
func (s seed) apply() (path, bad string, err error) {
	if path, err = filepath.Abs(filepath.Join("../primitives", s.file)); err != nil {
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

// edits are pairs of a text, which must be in the file exactly once, and what replaces it.
type edits [][2]string

// virtual is where the suite runs on the embedded server, in virtual time.
const virtual = "conformance/matrix/virtual"

// histories and properties find what there is to find of the lock, in virtual time.
var (
	histories  = historiesOf("Lock")
	properties = propertiesOf("Lock")
)

func historiesOf(primitive string) finder {
	return finder{dir: virtual, test: "TestHistories/" + primitive + "Histories", runs: 5}
}

func propertiesOf(primitive string) finder {
	return finder{dir: virtual, test: "TestProperties/" + primitive + "Properties", runs: 5}
}

// onEmbedded is a case on the embedded server, for what is no matter of time or order.
func onEmbedded(name string) finder {
	return finder{dir: virtual, test: "TestEmbedded/Together/" + name}
}

// seeds returns all bugs: those first that are found in real time, since they take the longest.
func seeds() []seed {
	return slices.Concat(vainSeeds(), waitSeeds(), renewSeeds(), lockSeeds(), spinSeeds(), fairSeeds(), readWriteSeeds(),
		jointSeeds(), numberSeeds(), permitSeeds(), countingSeeds(), idSeeds(), limiterSeeds(), adderSeeds(),
		mutexSeeds(), dispatchSeeds(), replicaSeeds(), rightsSeeds(), extendSeeds(), holderSeeds(), electionSeeds())
}

// TestSeedsFit: the code still has what each bug replaces, and a switch can replace it, so that it is not
// "make prove" that says so.
func TestSeedsFit(t *testing.T) {
	t.Parallel()
	_, err := plantAll(seeds())
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, s := range seeds() {
		require.False(t, ids[s.id()], "two bugs are named %s", s.id())
		ids[s.id()] = true
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
