package contract_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/contract"
)

// clauses returns the clauses as the doc comments of package backend have them.
func clauses(t *testing.T) map[string]string {
	t.Helper()
	start := regexp.MustCompile(`^([RSBWLK]\d+)\. `)
	clauses := map[string]string{}
	for _, name := range []string{"backend.go", "replicas.go", "locator.go", "scanner.go"} {
		name = "../../backend/" + name
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
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
	all := clauses(t)
	require.Len(t, all, 24)
	for number, text := range all {
		require.Equal(t, text, strings.Join(strings.Fields(contract.Clause(number)), " "), number)
	}
}

func TestEveryClauseHasACase(t *testing.T) {
	t.Parallel()
	cases := map[string]int{}
	for _, c := range slices.Concat(contract.RunnerCases(), contract.SubscriberCases()) {
		require.NotEmpty(t, c.Text, c.Name)
		cases[c.Clause]++
	}
	for number := range clauses(t) {
		require.Positive(t, cases[number], "clause %s has no case", number)
	}
}
