package check

import "github.com/hasp-go/hasp/luagen/internal/parse"

// elements finds an element of KEYS or ARGV that follows one which is left out, if all that the script uses are written out.
func (c *checker) elements(list string) {
	at, whole := map[int]parse.Expr{}, 0
	for _, e := range c.flow.exprs {
		index, ok := e.(*parse.IndexExpr)
		switch n := c.nth(e, list); {
		case isGlobal(e, list):
			whole++
		case ok && n > 0 && isGlobal(index.X, list):
			whole--
			at[n] = e
		}
	}
	for n := 1; whole == 0 && n <= len(at); n++ {
		if e := at[n+1]; at[n] == nil && e != nil && (n > 1 || list == "KEYS") {
			if !c.assembled() {
				c.find(e.Pos(), Unused, "%s[%d] is used, and %s[%d] is not: is this number right?", list, n+1, list, n)
			}
			return
		}
	}
}
