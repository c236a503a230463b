package redigobackend_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
)

const root = "../.."

// part is a function of package conformance that takes a harness.
var part = regexp.MustCompile(`(?m)^func (Run\w*)\(\w+ \*testing\.`)

// TestPage holds docs/internals/adding-a-backend.md to what the suite has.
func TestPage(t *testing.T) {
	t.Parallel()
	page := read(t, root, "docs", "internals", "adding-a-backend.md")
	for _, field := range reflect.VisibleFields(reflect.TypeFor[conformance.Harness]()) {
		if field.Name != "_" {
			require.Contains(t, page, "`"+field.Name+"`", "a field of the harness")
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "conformance", "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		for _, m := range part.FindAllStringSubmatch(read(t, file), -1) {
			require.Contains(t, page, "`"+m[1]+"`", "a part of the suite")
		}
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(content)
}
