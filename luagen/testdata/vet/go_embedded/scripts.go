package scripts

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed whole.lua
var whole string

var (
	//go:embed part/tools.txt
	tools string
	//go:embed part/main.lua
	main string
	//go:embed part/gone.lua
	gone string
)

var (
	first  = redis.NewScript(whole)
	second = redis.NewScript(tools + main)
	third  = redis.NewScript(gone)
)
