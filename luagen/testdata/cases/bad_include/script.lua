---@key x hash
return x
