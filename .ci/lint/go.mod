module hasp-lint

go 1.26.0

require (
	codeberg.org/polyfloyd/go-errorlint v1.9.0
	github.com/golangci/misspell v0.8.0
	github.com/kulti/thelper v0.7.1
	github.com/ldez/usetesting v0.5.0
	github.com/maratori/testableexamples v1.0.1
	golang.org/x/tools v0.52.0
	honnef.co/go/tools v0.8.2
)

require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
