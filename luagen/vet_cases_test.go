package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVetCases runs "luagen vet" on each folder of testdata/vet, and expects what its want.txt says, or nothing.
func TestVetCases(t *testing.T) {
	t.Parallel()
	cases := must(os.ReadDir("testdata/vet"))(t)
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("testdata", "vet", c.Name())
			_, out, errs := luagen("vet", dir+"/...")
			require.Empty(t, out)
			got := strings.ReplaceAll(errs, dir+string(filepath.Separator), "")
			expect(t, filepath.Join(dir, "want.txt"), []byte(got))
			requireSound(t, got)
		})
	}
}

// requireSound fails if a file that is named to be sound has a finding. What a case expects can be written anew in a
// hurry; this cannot.
func requireSound(t *testing.T, got string) {
	t.Helper()
	for line := range strings.Lines(got) {
		file, _, _ := strings.Cut(line, ":")
		require.False(t, strings.HasPrefix(filepath.Base(file), "sound"), line)
	}
}
