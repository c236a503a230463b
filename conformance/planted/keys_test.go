package planted_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMutantsOfALine: the edits of a function and of a script, and that their keys outlive what is added elsewhere.
func TestMutantsOfALine(t *testing.T) {
	t.Parallel()
	function := "\nfunc (s *some) f(n int) error {\n\tdefer s.end()\n\tif n <= 2 && !s.ok {\n\t\treturn errBad\n\t}\n\treturn errs(`%w: %w`)\n}\n"
	for _, c := range []struct{ file, text, more, want string }{
		{
			"x.go", function, "\nfunc g() { h() }\n", "drop s.end(): ; negate n <= 2 && !s.ok: !(n <= 2 && !s.ok); " +
				"and-or &&: ||; boundary <=: <; constant 2: 3; not !s.ok: s.ok; drop-branch return errBad: ; nil-error errBad: nil; " +
				"drop-branch return errs(`%w: %w`): ; nil-error errs(`%w: %w`): nil; unwrap `%w: %w`: `%v: %w`; unwrap `%w: %w`: `%w: %v`",
		},
		{
			"x.lua", "if a and b == 'and' then -- and\n  redis.call('del', key)\nend\n", "local c = nil\n",
			"and-or and: or; equal ==: ~=; negate a and b == 'and': not (a and b == 'and'); drop redis.call('del', key): ",
		},
	} {
		was, is := listed(t, c.file, c.text), listed(t, c.file, c.more+c.text)
		var edits []string
		for _, m := range was {
			operator := strings.Fields(m.key)[2]
			edits = append(edits, fmt.Sprintf("%s %s: %s", operator, strings.TrimPrefix(m.was, "defer "), m.is))
		}
		require.Equal(t, c.want, strings.Join(edits, "; "))
		for i, m := range is[len(is)-len(was):] {
			require.Equal(t, was[i].key, m.key)
		}
	}
}

func listed(t *testing.T, file, text string) []mutant {
	t.Helper()
	if strings.HasSuffix(file, ".lua") {
		return luaMutants(file, text)
	}
	all, err := goMutants(file, "package p\n"+text)
	require.NoError(t, err)
	return all
}
