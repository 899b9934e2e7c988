# The public names of this subject, each once.
# fmt: off
# isort: off
from .plans.numeric.table_plan import CategoryColumn as CategoryColumn, LabelColumn as LabelColumn
from .plans.numeric.table_plan import NumberColumn as NumberColumn, WholeColumn as WholeColumn
from .plans.numeric.table_plan import TablePlan as TablePlan
from .plans.numeric.tree_model import TreeModel as TreeModel, tree_dot as tree_dot, tree_lines as tree_lines
from .planning.table_planner import plan_table as plan_table
from .files.model_files import read_tree as read_tree, write_tree as write_tree
from .client.published_results import predict as predict
from .client.numeric.table_classes import predict_file as predict_file
from .server.numeric.histograms import released_frame as released_frame
from .server.numeric.tree_estimator import ReleasedTreeClassifier as ReleasedTreeClassifier
from .server.numeric.trees import grow_tree as grow_tree
from .simulation.table_simulation import find_whole_columns as find_whole_columns
