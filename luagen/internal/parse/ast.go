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
type Block struct {
	Stmts []Stmt
}

// The expressions.
type (
	// NilExpr is nil.
	NilExpr struct{ at }
	// BoolExpr is true or false.
	BoolExpr struct {
		at
		Value bool
	}
	// NumberExpr is a numeral.
	NumberExpr struct {
		at
		Text string
	}
	// StringExpr is a literal text.
	StringExpr struct {
		at
		Value string
	}
	// VarargExpr is "...".
	VarargExpr struct{ at }
	// FuncExpr is a function's parameters and body.
	FuncExpr struct {
		at
		Params []*Var // "self" of a method included
		Vararg bool
		Body   *Block
		Last   Pos // of the last token
	}
	// NameExpr is a use of a name.
	NameExpr struct {
		at
		Name string
		Var  *Var // nil: a global
	}
	// IndexExpr is X[Key], or X.Key if Dot is set.
	IndexExpr struct {
		at
		X, Key Expr
		Dot    bool
	}
	// CallExpr is Fn(Args), or Fn:Method(Args).
	CallExpr struct {
		at
		Fn     Expr
		Method string
		Args   []Expr
		Last   Pos // of the last token
	}
	// BinaryExpr is L Op R.
	BinaryExpr struct {
		at
		Op   string
		L, R Expr
	}
	// UnaryExpr is Op X.
	UnaryExpr struct {
		at
		Op string
		X  Expr
	}
	// TableExpr is a table constructor.
	TableExpr struct {
		at
		Fields []Field
	}
	// ParenExpr is (X).
	ParenExpr struct {
		at
		X Expr
	}
)

// Field is one field of a table constructor; Key is nil in the list part.
type Field struct {
	Key   Expr
	Named bool // written name = value
	Value Expr
}

// The statements.
type (
	// LocalStmt is "local Vars = Values".
	LocalStmt struct {
		at
		Vars   []*Var
		Values []Expr
	}
	// AssignStmt is "Targets = Values".
	AssignStmt struct {
		at
		Targets []Expr
		Values  []Expr
	}
	// CallStmt is a call for its effect.
	CallStmt struct {
		at
		Call *CallExpr
	}
	// DoStmt is "do ... end".
	DoStmt struct {
		at
		Body *Block
	}
	// WhileStmt is "while Cond do ... end".
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
	// GenForStmt is "for Vars in Values do".
	GenForStmt struct {
		at
		Vars   []*Var
		Values []Expr
		Body   *Block
	}
	// FuncStmt is "function Target() ... end"; Target is a name or an index by dots.
	FuncStmt struct {
		at
		Target Expr
		Method string
		Func   *FuncExpr
	}
	// LocalFuncStmt is "local function Var() ... end".
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
