chained = True
