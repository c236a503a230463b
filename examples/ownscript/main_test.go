package main

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

const output = `taken true, left 2, wait 0s
taken true, left 1, wait 0s
taken true, left 0, wait 0s
taken false, left 0, wait 500ms
taken true, left 0, wait 0s
four of three: true
`

// TestOutput runs the program in virtual time, where all of it takes no time at all.
func TestOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, run(&out))
		require.Equal(t, output, out.String())
	})
}
