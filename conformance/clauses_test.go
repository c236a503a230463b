package conformance_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
)

// contract returns the clauses as the doc comments of package backend have them.
func contract(t *testing.T) map[string]string {
	t.Helper()
	start := regexp.MustCompile(`^([RSBW]\d+)\. `)
	clauses := map[string]string{}
	for _, name := range []string{"backend.go", "replicas.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), "../backend/"+name, nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			group, ok := n.(*ast.CommentGroup)
			if !ok {
				return true
			}
			for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
				if m := start.FindStringSubmatch(paragraph); m != nil {
					clauses[m[1]] = strings.Join(strings.Fields(paragraph[len(m[0]):]), " ")
				}
			}
			return true
		})
	}
	return clauses
}

func TestClausesAreTheContract(t *testing.T) {
	t.Parallel()
	clauses := contract(t)
	require.Len(t, clauses, 19)
	for number, text := range clauses {
		require.Equal(t, text, strings.Join(strings.Fields(conformance.Clause(number)), " "), number)
	}
}

func TestEveryClauseHasACase(t *testing.T) {
	t.Parallel()
	cases, names := map[string]int{}, map[string]bool{}
	for _, c := range conformance.Cases() {
		require.NotEmpty(t, conformance.Clause(c.Clause), c.Name)
		require.False(t, names[c.Name], "two cases are named %s", c.Name)
		cases[c.Clause]++
		names[c.Name] = true
	}
	for number := range contract(t) {
		require.Positive(t, cases[number], "clause %s has no case", number)
	}
}
