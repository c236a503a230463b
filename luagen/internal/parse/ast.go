package parse

// Expr is an expression. Pos is the place of its first character.
type Expr interface{ Pos() Pos }

// Stmt is a statement. Pos is the place of its first character.
type Stmt interface{ Pos() Pos }

// at gives a node its place.
type at struct{ P Pos }

// Pos returns the place of the node's first character.
func (a at) Pos() Pos { return a.P }

// Block is a sequence of statements with a scope of its own.
type Block struct{ Stmts []Stmt }

// The expressions.
type (
	NilExpr  struct{ at }
	BoolExpr struct {
		at
		Value bool
	}
	NumberExpr struct {
		at
		Text string
	}
	StringExpr struct {
		at
		Value string
	}
	VarargExpr struct{ at }
	FuncExpr   struct {
		at
		Params []*Var // "self" of a method included
		Vararg bool
		Body   *Block
		Last   Pos // of the last token
	}
	NameExpr struct {
		at
		Name string
		Var  *Var // nil: a global
		Set  bool // an assignment
	}
	// IndexExpr is X[Key], or X.Key.
	IndexExpr struct {
		at
		X, Key Expr
	}
	// CallExpr is Fn(Args), or Fn:Method(Args).
	CallExpr struct {
		at
		Fn     Expr
		Method string
		Args   []Expr
		Last   Pos // of the last token
	}
	BinaryExpr struct {
		at
		Op   string
		L, R Expr
	}
	UnaryExpr struct {
		at
		Op string
		X  Expr
	}
	TableExpr struct {
		at
		Fields []Field
	}
	ParenExpr struct {
		at
		X Expr
	}
)

// Field is one field of a table constructor; Key is nil in the list part.
type Field struct{ Key, Value Expr }

// The statements.
type (
	LocalStmt struct {
		at
		Vars   []*Var
		Values []Expr
	}
	AssignStmt struct {
		at
		Targets, Values []Expr
	}
	CallStmt struct {
		at
		Call *CallExpr
	}
	DoStmt struct {
		at
		Body *Block
	}
	WhileStmt struct {
		at
		Cond Expr
		Body *Block
	}
	// RepeatStmt is "repeat ... until Cond"; Cond sees the body's names.
	RepeatStmt struct {
		at
		Body *Block
		Cond Expr
	}
	// IfStmt is an if with its elseifs; Else may be nil.
	IfStmt struct {
		at
		Conds  []Expr
		Blocks []*Block
		Else   *Block
	}
	// NumForStmt is "for Var = From, To, Step do"; Step may be nil.
	NumForStmt struct {
		at
		Var            *Var
		From, To, Step Expr
		Body           *Block
	}
	GenForStmt struct {
		at
		Vars   []*Var
		Values []Expr
		Body   *Block
	}
	// FuncStmt is "function Target() ... end", or "function Target:name() ... end"; Target is a name or an index by dots.
	FuncStmt struct {
		at
		Target Expr
		Func   *FuncExpr
	}
	LocalFuncStmt struct {
		at
		Var  *Var
		Func *FuncExpr
	}
	// ReturnStmt is "return Values", always last in its block.
	ReturnStmt struct {
		at
		Values []Expr
	}
	// BreakStmt is "break", always last in its block.
	BreakStmt struct{ at }
)

// VarKind says how a [Var] came to be.
type VarKind int

// The ways in which names come to be.
const (
	LocalVar    VarKind = iota
	ParamVar            // a function's parameter, self and arg included
	LoopVar             // a for loop's
	FuncVar             // local function
	DeclaredVar         // by the header
	IncludedVar         // local function of an included file
)

// Var is one local name.
type Var struct {
	Name   string
	Pos    Pos
	Kind   VarKind
	Decl   *Binding // of a DeclaredVar
	Reads  []*NameExpr
	Writes []*NameExpr // assignments after its declaration

	owner *function
}
