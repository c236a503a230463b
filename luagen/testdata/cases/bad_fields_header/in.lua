---@key a hash level: itn
---@key b hash level: int, at: unixmili, when: string[], flag: bool, name, level: int, Level: int
---@key c hash at-all: int, owner: string
---@key d list level: int
---@return d one
---@return b(levle) two
---@return a three
---@return b[] four
---@return b(level)... five
return redis.call('hget', a, b, c)
