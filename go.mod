module github.com/hasp-go/hasp

go 1.25.0
