package hasp_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// programs are the folders of the programs whose lengths docs/comparison.md has.
var programs = []string{
	"examples/programs/periodic", "examples/programs/leader", "examples/httplimit", "examples/programs/fencing",
	"examples/programs/workers",
}

// peers are the libraries with which bench/peers has the same programs.
var peers = []string{"redsync", "rueidislock", "etcd"}

// TestProgramsAreShort counts all lines of the programs' files.
func TestProgramsAreShort(t *testing.T) {
	t.Parallel()
	for _, program := range programs {
		require.LessOrEqual(t, lines(t, program), 40, program)
		files, err := filepath.Glob(program + "/*.go")
		require.NoError(t, err)
		require.Len(t, files, 2, "a program is one file, and its test another")
	}
}

// TestProgramsLengths compares the table of lengths in docs/comparison.md with the files.
func TestProgramsLengths(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/comparison.md")
	for _, program := range programs {
		row := "](../" + program + "/main.go) | " + strconv.Itoa(lines(t, program)) + " |"
		for _, peer := range peers {
			row += " " + length(t, path.Join("bench/peers", path.Base(program), peer)) + " |"
		}
		require.Contains(t, page, row)
	}
}

// TestPeersAreListed finds a program of another library that the table does not count.
func TestPeersAreListed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("bench/peers/*/*/main.go")
	require.NoError(t, err)
	listed := 0
	for _, program := range programs {
		for _, peer := range peers {
			if length(t, path.Join("bench/peers", path.Base(program), peer)) != "none" {
				listed++
			}
		}
	}
	require.Len(t, files, listed)
}

// length returns how many lines the program in a folder has, as the table says it.
func length(t *testing.T, folder string) string {
	t.Helper()
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return "none"
	}
	return strconv.Itoa(lines(t, folder))
}

// lines returns how many lines the program in a folder has.
func lines(t *testing.T, folder string) int {
	t.Helper()
	return strings.Count(read(t, folder+"/main.go"), "\n")
}
